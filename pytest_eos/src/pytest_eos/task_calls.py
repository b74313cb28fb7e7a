"""Record how the tasks of a connector were called, what they answered."""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

from eosfw.connectors import SourceConnector, SourceTask
from eosfw.errors import described
from eosfw.records import SourceBatch, SourceRecord
from eosfw.text import quantity
from pytest_eos.virtual.stack_frames import frame_location

_METHODS = ("start", "poll", "at_end", "commit", "commit_record", "stop")
_SHOWN = 3
"""How many lines of a call tell enough."""
NEVER = "was never asked"


@dataclass(slots=True)
class TaskCalls:
    """The calls of one task; written by the thread that makes them."""

    name: str
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
    """Whether the newest poll is one of those."""
    thread: int = 0
    at_end: object = NEVER

    def called(self, method: str, given: Sequence[Any]) -> None:
        """Note that a call begins."""
        self.calls += 1
        self.calling, self.thread = method, get_ident()
        if method == "start" and len(given) > 1:
            self.name = str(getattr(given[1], "task_id", self.name))

    def raised(self, method: str, error: BaseException) -> None:
        """Note how a call failed."""
        if method == "poll":
            self.polls += 1
            self.errors += 1
            self.last_error, self.failing = error, True

    def answered(self, method: str, answer: Any) -> None:
        """Note what a call returned."""
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
        """Whether a poll gave a record, or told by an error that it has none."""
        return bool(self.records or self.errors)

    def failures(self) -> str:
        """How many polls failed, and how the last one did."""
        return (
            f"{self.errors:,} of {quantity(self.polls, 'poll')} raised, last {described(self.last_error or OSError())}"
        )

    def place(self) -> str:
        """Where the call that has not returned stands."""
        if self.thread == get_ident():  # it takes turns with whoever asks, and does not stand in any place of its own
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


class CallLog:
    """Every task that connectors of one test made."""

    def __init__(self) -> None:
        self.tasks: list[TaskCalls] = []
        self.interrupted = False
        """Whether Ctrl-C hit a call: on a thread that all tasks share, none of the others may block it once more."""

    def record_connector(self, connector: SourceConnector) -> SourceConnector:
        """The same connector; calls of the tasks that it makes are recorded from now on."""
        connector.task = _RecordingTaskFactory(connector.task, self)  # type: ignore[misc,assignment]
        return connector

    def record_task(self, task: SourceTask) -> SourceTask:
        """The same task; its calls are recorded from now on."""
        calls = TaskCalls(type(task).__name__)
        self.tasks.append(calls)
        for name in _METHODS:
            method = getattr(task, name, None)
            if method is not None:
                setattr(task, name, partial(_call, self, calls, name, method))
        return task

    def summary(self, most: int = 4) -> str:
        """What the tasks polled last were asked and answered."""
        polled = [calls for calls in self.tasks if calls.polls] or self.tasks
        return "; ".join(map(str, polled[-most:])) or "no task was made"

    def progress(self) -> tuple[tuple[str, int], ...]:
        """Every call that has not returned; the same again means that none of them got on."""
        return tuple((calls.name, calls.calls) for calls in list(self.tasks) if calls.calling is not None)

    def blocked(self) -> TaskCalls | None:
        """A task with a call that has not returned, the one called last."""
        return next((calls for calls in reversed(self.tasks) if calls.calling is not None), None)


class _RecordingTaskFactory:
    """Stands for a task's class: makes tasks whose calls are recorded."""

    def __init__(self, kind: type[SourceTask], log: CallLog) -> None:
        self._kind, self._log = kind, log

    def __call__(self) -> SourceTask:
        return self._log.record_task(self._kind())

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
    """The innermost lines of a call, and the connector's own that was called."""
    lines: list[str] = []
    while frame is not None and frame.f_code is not _call.__code__:
        lines.append(frame_location(frame))
        frame = frame.f_back
    shown = lines if len(lines) <= _SHOWN else [*lines[: _SHOWN - 1], lines[-1]]
    return ", called by ".join(shown)
