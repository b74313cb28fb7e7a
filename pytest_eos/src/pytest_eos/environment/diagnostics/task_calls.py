"""A record of the calls of connectors and their tasks, and of their results."""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from types import FrameType
from typing import Any, Protocol

from eosfw.connectors import SourceConnector, SourceTask
from eosfw.errors import described
from eosfw.records import SourceBatch, SourceRecord
from eosfw.text import quantity
from pytest_eos.virtual.stack_frames import frame_location

_METHODS = ("start", "poll", "at_end", "commit", "commit_record", "stop")
_CALLBACKS = ("commit", "commit_record")
_OF_CONNECTOR = ("task_configs", "start", "watch", "stop")
_SHOWN = 3
"""How many stack frames of a call are shown."""
NEVER = "was never asked"


@dataclass(slots=True)
class TaskCalls:
    """The calls of one task, or of a connector itself; the thread that makes them writes this."""

    name: str
    what: str = "task"
    calls: int = 0
    calling: str | None = None
    """The method that has not returned yet."""
    polls: int = 0
    records: int = 0
    last: SourceRecord | SourceBatch | None = None
    errors: int = 0
    """Polls that raised."""
    last_error: BaseException | None = None
    failing: bool = False
    """Whether the last poll raised."""
    thread: int = 0
    at_end: object = NEVER
    callback_failure: str = ""
    """The first error of `commit` or `commit_record`, which a worker logs and goes on."""

    def called(self, method: str, given: Sequence[Any]) -> None:
        """Record the start of a call."""
        self.calls += 1
        self.calling, self.thread = method, get_ident()
        if method == "start" and len(given) > 1:
            self.name = str(getattr(given[1], "task_id", self.name))

    def raised(self, method: str, error: BaseException) -> None:
        """Record the error of a call."""
        if method == "poll":
            self.polls += 1
            self.errors += 1
            self.last_error, self.failing = error, True
        elif method in _CALLBACKS and not self.callback_failure:
            self.callback_failure = f"`{method}` of task {self.name} raises {described(error)}"

    def answered(self, method: str, answer: Any) -> None:
        """Record the result of a call."""
        if method == "at_end":
            self.at_end = answer
        elif method == "poll":
            self.polls += 1
            self.failing = False
            items = answer if isinstance(answer, Sequence) and not isinstance(answer, SourceBatch) else (answer,)
            for item in items[-1:]:
                if isinstance(item, SourceRecord | SourceBatch):
                    self.last = item
            self.records += sum(len(one) if isinstance(one, SourceBatch) else one is not None for one in items)

    @property
    def polled_something(self) -> bool:
        """Whether a poll returned a record or raised."""
        return bool(self.records or self.errors)

    def failures(self) -> str:
        """The number of polls that failed, and the last error."""
        return (
            f"{self.errors:,} of {quantity(self.polls, 'poll')} raised, last {described(self.last_error or OSError())}"
        )

    def place(self) -> str:
        """The stack frames of the call that has not returned."""
        # In virtual time the task shares the thread of the caller, and so has no stack of its own.
        if self.thread == get_ident():
            return ""
        frame = sys._current_frames().get(self.thread)  # noqa: SLF001 - the one way to see another thread's
        return "" if frame is None else f": it stands in {call_location(frame)}"

    def __str__(self) -> str:
        summary = [f"{quantity(self.polls, 'poll')} gave {quantity(self.records, 'record')}"]
        if self.last is not None:
            summary.append(f"the last of {dict(self.last.source_partition)} at {dict(self.last.source_offset)}")
        if self.last_error is not None:
            summary.append(self.failures())
        summary.append(f"at_end {NEVER}" if self.at_end == NEVER else f"at_end said {self.at_end}")
        if self.calling is not None:
            summary.append(f"{self.calling} has not returned")
        return f"task {self.name}: {', '.join(summary)}"


class TaskRecorder(Protocol):
    """Records something of tasks."""

    def record_task(self, task: SourceTask) -> SourceTask:
        """Record something of this task from now on."""


class CallLog:
    """The calls of every task that the connectors of one test created."""

    def __init__(self) -> None:
        self.tasks: list[TaskCalls] = []
        self._connectors: list[TaskCalls] = []
        self.interrupted = False
        """Whether Ctrl-C interrupted a call: then no task on the shared thread may start another one that blocks."""

    def record_task(self, task: SourceTask) -> SourceTask:
        """Record the calls of this task from now on."""
        calls = TaskCalls(type(task).__name__)
        self.tasks.append(calls)
        self._record(task, _METHODS, calls)
        return task

    def record_connector(self, connector: SourceConnector) -> SourceConnector:
        """Record the calls of this connector, and of the tasks that it creates, from now on."""
        calls = TaskCalls(connector.name, "connector")
        self._connectors.append(calls)
        self._record(connector, _OF_CONNECTOR, calls)
        return record_tasks(connector, self)

    def _record(self, called: object, methods: Iterable[str], calls: TaskCalls) -> None:
        for name in methods:
            method = getattr(called, name, None)
            if method is not None:
                setattr(called, name, partial(_call, self, calls, name, method))

    def summary(self, most: int = 4) -> str:
        """The calls of the last tasks that were polled, and their results, as text."""
        polled = [calls for calls in self.tasks if calls.polls] or self.tasks
        return "; ".join(map(str, polled[-most:])) or "no task was made"

    def progress(self) -> tuple[tuple[int, int], ...]:
        """Every call that has not returned, by task, with a count; two equal results mean that none made progress."""
        # By position: of two tasks with one name, the second may be in its first poll when the next look comes.
        called = chain(enumerate(list(self.tasks)), ((~n, calls) for n, calls in enumerate(list(self._connectors))))
        return tuple((number, calls.calls) for number, calls in called if calls.calling is not None)

    def blocked(self) -> TaskCalls | None:
        """The last task, or else the last connector, with a call that has not returned."""
        called = chain(reversed(self.tasks), reversed(self._connectors))
        return next((calls for calls in called if calls.calling is not None), None)


def record_tasks(connector: SourceConnector, recorder: TaskRecorder) -> SourceConnector:
    """Have a recorder record the tasks that a connector creates from now on."""
    connector.task = _RecordingTaskFactory(connector.task, recorder)  # type: ignore[misc,assignment]
    return connector


class _RecordingTaskFactory:
    """Takes the place of a task's class: creates tasks of which something is recorded."""

    def __init__(self, kind: type[SourceTask], recorder: TaskRecorder) -> None:
        self._kind, self._recorder = kind, recorder

    def __call__(self) -> SourceTask:
        return self._recorder.record_task(self._kind())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kind, name)


def _call(log: CallLog, calls: TaskCalls, name: str, method: Any, *given: Any) -> Any:
    __tracebackhide__ = True
    if log.interrupted and name in ("start", "poll"):
        raise KeyboardInterrupt
    calls.called(name, given)
    try:
        answer = method(*given)
    except BaseException as error:
        log.interrupted = log.interrupted or isinstance(error, KeyboardInterrupt)
        calls.raised(name, error)
        raise
    finally:
        calls.calling = None
    calls.answered(name, answer)
    return answer


def call_location(frame: FrameType | None) -> str:
    """The innermost stack frames of a call, and the outermost one, which is the connector's."""
    lines: list[str] = []
    while frame is not None and frame.f_code is not _call.__code__:
        lines.append(frame_location(frame))
        frame = frame.f_back
    shown = lines if len(lines) <= _SHOWN else [*lines[: _SHOWN - 1], lines[-1]]
    return ", called by ".join(shown)
