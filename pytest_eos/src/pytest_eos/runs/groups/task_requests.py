"""What tasks ask of the framework, and what they are given: committed source offsets, ends of transactions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from eosfw.connectors import SourceTask
from eosfw.observe import StepEvent, TaskStep
from eosfw.records import SourceOffset, SourcePartition, SourceRecord
from pytest_eos.runs.groups.provenance import Authors, Start, current_step

Given = list[tuple[SourcePartition, SourceOffset | None]]
Request = tuple[str, SourceRecord | None]
"""`commit` or `abort`, and the record behind which the transaction is to end; None: behind what the poll returns."""


class TaskRequests:
    """What the tasks of a test's connectors asked for at each of their starts."""

    def __init__(self, authors: Authors) -> None:
        self._authors = authors
        self._given: dict[Start, Given] = defaultdict(list)
        self._requests: dict[int, list[Request]] = defaultdict(list)
        """By the identity of the event before it."""
        self._unordered: set[Start] = set()

    def offsets_given(self, start: Start) -> Sequence[tuple[SourcePartition, SourceOffset | None]]:
        """The committed offsets that a task was given, None where it was told that there is none."""
        return self._given.get(start, ())

    def requests_after(self, event: StepEvent) -> Sequence[Request]:
        """The ends of transactions that a task asked for between this event and the next."""
        return self._requests.get(id(event), ())

    def in_order(self, start: Start) -> bool:
        """Whether it is known to which poll each request belongs: not if some came outside of `poll`."""
        return start not in self._unordered

    def record_task(self, task: SourceTask) -> SourceTask:
        """Record the requests of this task from its start on."""
        poll, start = task.poll, task.start
        polling: list[StepEvent] = []

        def recorded_poll() -> Any:
            if (event := current_step()) is not None:
                polling.append(event)
            try:
                return poll()
            finally:
                polling.clear()

        task.start = lambda config, context: start(config, self._recorded(context, polling))  # type: ignore[method-assign]
        task.poll = recorded_poll  # type: ignore[method-assign]
        return task

    def _recorded(self, context: Any, polling: Sequence[StepEvent]) -> Any:
        event = current_step()
        if event is None or event.step is not TaskStep.START_TASK:  # a task of a replay, which announces no step
            return context
        transaction = context.transaction
        if transaction is not None:
            transaction = _RecordedTransaction(transaction, partial(self._requested, event, polling))
        return _RecordedContext(context, transaction, self._given[self._authors.start_key(event)])

    def _requested(self, start: StepEvent, polling: Sequence[StepEvent], how: str, record: SourceRecord | None) -> None:
        during = next(iter(polling), None)
        if during is None and record is None:
            self._unordered.add(self._authors.start_key(start))
        self._requests[id(during or start)].append((how, record))


class _RecordedContext:
    """Takes the place of a task's context."""

    def __init__(self, real: Any, transaction: Any, given: Given) -> None:
        self._real, self.transaction, self._given = real, transaction, given

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        found: SourceOffset | None = self._real.offset(partition)
        self._given.append((partition, found))
        return found


class _RecordedTransaction:
    """Takes the place of a task's transaction context."""

    def __init__(self, real: Any, requested: Callable[[str, SourceRecord | None], None]) -> None:
        self._real, self._requested = real, requested

    def commit(self) -> None:
        self._requested("commit", None)
        self._real.commit()

    def commit_record(self, record: SourceRecord) -> None:
        self._requested("commit", record)
        self._real.commit_record(record)

    def abort(self) -> None:
        self._requested("abort", None)
        self._real.abort()

    def abort_record(self, record: SourceRecord) -> None:
        self._requested("abort", record)
        self._real.abort_record(record)
