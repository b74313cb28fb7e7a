"""Decide where a task's transactions end: behind each poll, after an interval, where the connector says (KIP-618)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from eosfw.records import SourceRecord


class End(Enum):
    """What to do with the open transaction."""

    KEEP = "keep"
    COMMIT = "commit"
    ABORT = "abort"


class BoundaryConflictError(ValueError):
    """A connector asked to commit and to abort at one place."""


class Boundary(Protocol):
    """Asked after every record (if `per_record`), after every batch, at a clean stop."""

    per_record: bool

    def start(self, now: float) -> None:
        """Hear that the task's loop begins."""

    def after_record(self, record: SourceRecord) -> End:
        """What to do right behind a record."""

    def after_batch(self, now: float) -> End:
        """What to do behind what a poll returned, nothing included."""

    def at_stop(self) -> End:
        """What to do at a clean stop (TXN-11)."""


class PollBoundary:
    """One transaction for what each poll returns."""

    per_record = False

    def start(self, now: float) -> None:
        """Nothing to note."""

    def after_record(self, record: SourceRecord) -> End:
        """Never within a batch."""
        return End.KEEP

    def after_batch(self, now: float) -> End:
        """Always."""
        return End.COMMIT

    def at_stop(self) -> End:
        """Commit what was sent."""
        return End.COMMIT


class IntervalBoundary:
    """A transaction for what came within `interval` seconds, looked at behind each batch (BND-07)."""

    per_record = False

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._last = 0.0

    def start(self, now: float) -> None:
        """Start the clock with the loop, not with the first record."""
        self._last = now

    def after_record(self, record: SourceRecord) -> End:
        """Never within a batch."""
        return End.KEEP

    def after_batch(self, now: float) -> End:
        """When the interval is over, counted from the last commit."""
        if now < self._last + self._interval:
            return End.KEEP
        self._last = now
        return End.COMMIT

    def at_stop(self) -> End:
        """Commit what was sent."""
        return End.COMMIT


@dataclass(slots=True)
class _Request:
    commit: bool = False
    abort: bool = False

    def take(self, where: str) -> End:
        commit, abort = self.commit, self.abort
        self.commit = self.abort = False
        if commit and abort:
            raise BoundaryConflictError(f"the task asked to commit and to abort {where}; ask for one of them")
        return End.COMMIT if commit else End.ABORT if abort else End.KEEP


class RequestedBoundary:
    """Where the task itself says; it is the `TransactionContext` that a task gets (BND-01..06).

    Every request counts once. A conflict surfaces where the worker asks, not in the task that might swallow it.
    Requests on different records may come from several threads: each is one assignment.
    """

    per_record = True

    def __init__(self) -> None:
        self._batch = _Request()
        self._records: dict[int, tuple[SourceRecord, _Request]] = {}

    # what the task calls

    def commit(self) -> None:
        """Ask to commit behind the batch."""
        self._batch.commit = True

    def commit_record(self, record: SourceRecord) -> None:
        """Ask to commit behind a record."""
        self._of(record).commit = True

    def abort(self) -> None:
        """Ask to discard the batch."""
        self._batch.abort = True

    def abort_record(self, record: SourceRecord) -> None:
        """Ask to discard up to a record."""
        self._of(record).abort = True

    def _of(self, record: SourceRecord) -> _Request:
        if not isinstance(record, SourceRecord):
            raise TypeError(f"a transaction ends behind a SourceRecord, not behind {type(record).__name__}")
        return self._records.setdefault(id(record), (record, _Request()))[1]

    # what the worker asks

    def start(self, now: float) -> None:
        """Nothing to note."""

    def after_record(self, record: SourceRecord) -> End:
        """What was asked for this very record."""
        kept = self._records.pop(id(record), None)
        return End.KEEP if kept is None else kept[1].take("behind one record")

    def after_batch(self, now: float) -> End:
        """What was asked for the batch."""
        return self._batch.take("behind one batch")

    def at_stop(self) -> End:
        """Commit only if the task asked."""
        return self._batch.take("at its stop")
