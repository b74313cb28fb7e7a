"""Decide where a task's transactions end: behind each poll, after an interval, where the connector says (KIP-618)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from eosfw.records import SourceRecord
from eosfw.state.poll_batch import PollBatch

_EMPTY_POLLS = 10
"""Polls in a row without a record after which a record that was named is not to be expected any more."""
_POLLS = 10_000
"""The same for polls that give other records: a task may name a record long before it returns it."""


class End(Enum):
    """What to do with the open transaction."""

    KEEP = "keep"
    COMMIT = "commit"
    ABORT = "abort"


class BoundaryError(ValueError):
    """A connector asked for an end of a transaction that cannot be."""


class BoundaryConflictError(BoundaryError):
    """A connector asked to commit and to abort at one place."""


class RecordNotReturnedError(BoundaryError):
    """A connector asked to end a transaction behind a record that its polls do not return."""


class Boundary(Protocol):
    """Asked after every record (if `per_record`), after every batch, at a clean stop."""

    per_record: bool

    def start(self, now: float) -> None:
        """Hear that the task's loop begins."""

    def after_record(self, record: SourceRecord) -> End:
        """What to do right behind a record."""

    def after_batch(self, now: float) -> End:
        """What to do behind what a poll returned, nothing included."""

    def at_end(self) -> None:
        """Hear that the source says it has no more to give; BoundaryError if it still owes a record."""

    def at_stop(self) -> End:
        """What to do at a clean stop (TXN-11)."""


def split(
    polled: Sequence[PollBatch], boundary: Boundary, now: Callable[[], float]
) -> Iterator[tuple[Sequence[PollBatch], End]]:
    """Cut what a poll returned where the boundary says: what to send next, then how to end the transaction behind it.

    Take one piece at a time: the boundary is asked what comes behind it once it was sent.
    """
    asked = End.KEEP
    if boundary.per_record:
        for batch in polled:
            for piece, end in _cut(batch, boundary):
                asked = end
                yield (piece,), end
    elif polled:
        yield polled, End.KEEP
    behind = boundary.after_batch(now())
    # What was asked for the last record is done already, and beats the opposite for its batch (BND-06).
    if asked is End.KEEP:
        yield (), behind


def _cut(batch: PollBatch, boundary: Boundary) -> Iterator[tuple[PollBatch, End]]:
    start = 0
    # A task names records by the objects that it returns: columns have none to name.
    for end, record in enumerate(batch.source_records or (), start=1):
        asked = boundary.after_record(record)
        if asked is not End.KEEP:
            yield batch.part(start, end), asked
            start = end
    if start < len(batch) or not len(batch):
        yield batch.part(start, len(batch)), End.KEEP


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

    def at_end(self) -> None:
        """Nothing to note."""

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

    def at_end(self) -> None:
        """Nothing to note."""

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


@dataclass(slots=True)
class _Named:
    """A record that a task named, how its transaction is to end, the number of the poll before."""

    record: SourceRecord
    poll: int
    request: _Request = field(default_factory=_Request)


class RequestedBoundary:
    """Where the task itself says; it is the `TransactionContext` that a task gets (BND-01..06).

    Every request counts once. What is wrong surfaces where the worker asks, not in the task that might swallow it.
    Requests on different records may come from several threads (each is one assignment), and long before their records
    are returned.

    Kafka Connect's `WorkerTransactionContext`.
    """

    per_record = True

    def __init__(self) -> None:
        self._batch = _Request()
        self._named: dict[int, _Named] = {}
        self._newest: _Named | None = None
        self._polls = self._empty_polls = 0
        self._returned: list[SourceRecord] = []
        """Records of this poll."""
        self._before: list[SourceRecord] = []
        """Those of the last poll that gave any."""

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
        self._newest = self._named.setdefault(id(record), _Named(record, self._polls))
        return self._newest.request

    # what the worker asks

    def start(self, now: float) -> None:
        """Nothing to note."""

    def after_record(self, record: SourceRecord) -> End:
        """What was asked for this very record."""
        self._returned.append(record)
        named = self._named.pop(id(record), None)
        return End.KEEP if named is None else named.request.take("behind one record")

    def after_batch(self, now: float) -> End:
        """What was asked for the batch; RecordNotReturnedError once a named record cannot be meant any more."""
        self._polls += 1
        returned, self._returned = self._returned, []
        self._empty_polls = 0 if returned or not self._named else self._empty_polls + 1
        if self._named:
            self._check(returned)
        self._before = returned or self._before
        return self._batch.take("behind one batch")

    def at_end(self) -> None:
        """Refuse what was asked for records that will never come."""
        for named in list(self._named.values()):
            raise _not_returned(named, "no poll returned it, and the source says that it is at its end")

    def at_stop(self) -> End:
        """Commit only if the task asked."""
        return self._batch.take("at its stop")

    def _check(self, returned: Sequence[SourceRecord]) -> None:
        newest = self._newest
        if newest is not None and id(newest.record) in self._named:
            if any(one == newest.record for one in returned):
                raise _not_returned(newest, "poll returned a copy of it: name the very object that poll returns")
            if any(one is newest.record for one in self._before):
                raise _not_returned(newest, "an earlier poll had returned it: name a record before poll returns it")
        oldest = min(list(self._named.values()), key=lambda named: named.poll)
        if self._empty_polls >= _EMPTY_POLLS:
            raise _not_returned(oldest, f"no poll returned it, and the last {self._empty_polls} returned nothing")
        if self._polls - oldest.poll >= _POLLS:
            raise _not_returned(oldest, f"none of {_POLLS:,} polls returned it")


def _not_returned(named: _Named, why: str) -> RecordNotReturnedError:
    what, record = "commit" if named.request.commit else "abort", named.record
    return RecordNotReturnedError(
        f"the task asked to {what} behind a record (topic {record.topic}, source partition "
        f"{dict(record.source_partition)}, source offset {dict(record.source_offset)}), but {why}"
    )
