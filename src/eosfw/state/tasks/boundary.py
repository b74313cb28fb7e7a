"""Where a task's transactions end: after each poll, at an interval, or where the connector says (KIP-618)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from eosfw.records import SourceRecord
from eosfw.state.tasks.poll_batch import PollBatch

_EMPTY_POLLS = 10
"""After so many polls in a row without a record, a record that a task named counts as never returned."""
_POLLS = 10_000
"""After so many polls that returned other records. A task may name a record long before it returns it."""


class End(Enum):
    """What to do with the open transaction."""

    KEEP = "keep"
    COMMIT = "commit"
    ABORT = "abort"


class BoundaryError(ValueError):
    """A connector asked to end a transaction where that is not possible."""


class BoundaryConflictError(BoundaryError):
    """A connector asked to commit and to abort at the same place."""


class RecordNotReturnedError(BoundaryError):
    """A connector asked to end a transaction after a record that its polls do not return."""


class Boundary:
    """Decides after every record (if `per_record`), after every batch, and at a clean stop.

    Kafka Connect's `ExactlyOnceWorkerSourceTask.TransactionBoundaryManager`. A boundary that does not say otherwise
    ends nothing within a batch, and commits at a stop.
    """

    per_record = False

    def start(self, now: float) -> None:
        """Called when the task's loop begins, and when it goes on after a pause."""

    def after_record(self, record: SourceRecord) -> End:
        """What to do right after a record."""
        return End.KEEP

    def after_batch(self, now: float) -> End:
        """What to do after the records of a poll, also if it returned none."""
        raise NotImplementedError

    def after_failed_poll(self, now: float) -> End:
        """What to do after a poll that failed and is repeated, so that nobody knows what the source holds."""
        return self.after_batch(now)

    def at_end(self) -> None:
        """Called when the source is at its end; BoundaryError if the task named a record that did not come."""

    def at_stop(self) -> End:
        """What to do at a clean stop (TXN-11), or before a pause (TXN-12)."""
        return End.COMMIT


def split(
    polled: Sequence[PollBatch], boundary: Boundary, now: Callable[[], float]
) -> Iterator[tuple[Sequence[PollBatch], End]]:
    """Split the result of a poll into pieces to send, each with what to do with the transaction after it.

    Send each piece before the next is taken: the boundary decides when it was sent.
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
    # A request for the last record is done already, and wins over a request for its batch (BND-06).
    if asked is End.KEEP:
        yield (), behind


def _cut(batch: PollBatch, boundary: Boundary) -> Iterator[tuple[PollBatch, End]]:
    start = 0
    # A task names records by the objects that it returns; a batch of columns has no such objects.
    for end, record in enumerate(batch.source_records or (), start=1):
        asked = boundary.after_record(record)
        if asked is not End.KEEP:
            yield batch.part(start, end), asked
            start = end
    if start < len(batch) or not len(batch):
        yield batch.part(start, len(batch)), End.KEEP


class PollBoundary(Boundary):
    """A transaction for each poll."""

    def after_batch(self, now: float) -> End:
        """Always."""
        return End.COMMIT


class IntervalBoundary(Boundary):
    """A transaction for the records of `interval` seconds; it ends after a batch (BND-07).

    Without transactions it takes the place of Kafka Connect's `SourceTaskOffsetCommitter`.
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._last = 0.0

    def start(self, now: float) -> None:
        """Start the clock with the loop, not with the first record."""
        self._last = now

    def after_batch(self, now: float) -> End:
        """When the interval is over, counted from the last commit."""
        if now < self._last + self._interval:
            return End.KEEP
        self._last = now
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
    """A record that a task named, how its transaction shall end, and the number of polls before."""

    record: SourceRecord
    poll: int
    request: _Request = field(default_factory=_Request)


class RequestedBoundary(Boundary):
    """Ends transactions where the task asks (Kafka Connect's `WorkerTransactionContext`; BND-01..06).

    The task gets this object as its `TransactionContext`. Every request counts once. A wrong request raises where the
    worker asks, not in the task, which might swallow the error. Requests for different records may come from several
    threads (each is one assignment), and long before the records are returned.
    """

    per_record = True

    def __init__(self) -> None:
        self._batch = _Request()
        # By id(), since equal records may be different ones; the entry holds its record, so no other gets that id.
        self._named: dict[int, _Named] = {}
        self._newest: _Named | None = None
        self._polls = self._empty_polls = 0
        self._returned: list[SourceRecord] = []
        """The records of the current poll."""
        self._before: list[SourceRecord] = []
        """The records of the last poll that returned any."""

    # what the task calls

    def commit(self) -> None:
        """Ask to commit after the batch."""
        self._batch.commit = True

    def commit_record(self, record: SourceRecord) -> None:
        """Ask to commit after a record."""
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

    def after_record(self, record: SourceRecord) -> End:
        """What the task asked for this very object."""
        self._returned.append(record)
        named = self._named.pop(id(record), None)
        return End.KEEP if named is None else named.request.take("behind one record")

    def after_batch(self, now: float) -> End:
        """What the task asked for the batch; RecordNotReturnedError once a named record will not come any more."""
        self._polls += 1
        returned, self._returned = self._returned, []
        # Counted only while a request waits: a source that is empty for days has not lost a record by that.
        self._empty_polls = 0 if returned or not self._named else self._empty_polls + 1
        if self._named:
            self._check(returned)
        self._before = returned or self._before
        return self._batch.take("behind one batch")

    def after_failed_poll(self, now: float) -> End:
        """What the task asked for; a record that it named may still come, so this poll counts as none."""
        return self._batch.take("behind one batch")

    def at_end(self) -> None:
        """Raise for a request whose record did not come."""
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
        # A copy, since the task may name further records from another thread meanwhile.
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
