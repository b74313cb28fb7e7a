"""Poll a fresh task for the records of its source that were committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from eosfw.connectors import SourceTask
from eosfw.errors import DamagedDataError, EosfwError, RetriableError, TaskFailedError, described
from eosfw.ids import ConnectorTaskId
from eosfw.protocols import OffsetStore
from eosfw.records import SourceOffset, SourcePartition
from eosfw.runtime.poll_result import has_records, read_poll_result
from eosfw.state.boundary import Boundary, BoundaryError, End, split
from eosfw.state.poll_batch import PollBatch

_IDLE = 5.0
"""Seconds without a record after which a source that cannot tell its end counts as exhausted."""
_BEYOND = 100_000
"""Polls in a row with nothing but records that were never committed, after which a source without end is left."""


@dataclass(slots=True)
class Goal:
    """How far each source partition was committed; what is reached is taken out."""

    store: OffsetStore
    left: dict[str, tuple[SourcePartition, SourceOffset]]
    _owners: dict[str, ConnectorTaskId] = field(default_factory=dict)
    _last: tuple[SourcePartition, dict[str, Any], ConnectorTaskId, str] | None = None

    def upto(self, partition: SourcePartition, offset: SourceOffset, task: ConnectorTaskId) -> bool:
        """Whether what lies before this offset was committed; forgets the partition behind the last one that was."""
        key = self._key(partition, task)
        wanted = self.left.get(key)
        if wanted is None:
            return False
        if dict(offset) == dict(wanted[1]):
            del self.left[key]
        return True

    def count(self, partition: SourcePartition, offsets: Sequence[SourceOffset], task: ConnectorTaskId) -> int:
        """How many records, of those behind which these offsets stand, were committed; forgets as `upto` does."""
        key = self._key(partition, task)
        wanted = self.left.get(key)
        if wanted is None or not offsets:
            return 0
        plain = offsets if type(offsets[0]) is dict else list(map(dict, offsets))
        try:
            last = plain.index(dict(wanted[1]))
        except ValueError:
            return len(offsets)
        del self.left[key]
        return last + 1

    def _key(self, partition: SourcePartition, task: ConnectorTaskId) -> str:
        last = self._last
        # Records of one partition come in runs: to compare is cheaper than to encode again.
        if last is not None and last[0] is partition and last[1] == partition and last[2] is task:
            return last[3]
        key = self.store.partition_key(partition)
        owner = self._owners.setdefault(key, task)
        if owner != task:
            raise DamagedDataError(
                f"tasks {owner} and {task} both give records of source partition {dict(partition)}, so each of them is "
                f"written twice: `task_configs` must give a source partition to one task alone"
            )
        self._last = (partition, dict(partition), task, key)
        return key


class TaskReplay:
    """A fresh task that is polled once more."""

    def __init__(self, task: SourceTask, task_id: ConnectorTaskId, boundary: Boundary, goal: Goal) -> None:
        self.id = task_id
        self.open: list[PollBatch] = []
        """What is committed of the transaction that its task has not ended yet."""
        self.busy = True
        """Whether the last poll gave anything."""
        self.failure: RetriableError | None = None
        """Why the last poll gave nothing, if it failed."""
        self._task, self._boundary, self._goal = task, boundary, goal
        self._idle_since: float | None = None
        self._beyond = 0

    def over(self, now: float) -> bool:
        """Whether nothing that was committed is to be expected of it any more."""
        if self.busy:
            return self._beyond >= _BEYOND
        idle_since = now if self._idle_since is None else self._idle_since
        with faults_of(self.id):
            ended = self.failure is None and bool(self._task.at_end())
        return ended or now - idle_since > _IDLE

    def poll(self, now: float, *, apart: bool) -> Sequence[PollBatch]:
        """Its next records that were committed, in the columns in which it gave them."""
        polled = self._poll()
        self.busy = has_records(polled)
        self._idle_since = None if self.busy else now if self._idle_since is None else self._idle_since
        known, ended = len(self.open), list[PollBatch]()
        for piece, end in self._pieces(polled, now):
            self.open += [part for batch in piece for part in self._committed(batch, apart=apart)]
            if end is End.COMMIT:
                ended += self.open
            if end is not End.KEEP:
                self.open = []
        self._beyond = 0 if ended or len(self.open) > known or not self.busy else self._beyond + 1
        return ended

    def _pieces(self, polled: Sequence[PollBatch], now: float) -> Iterator[tuple[Sequence[PollBatch], End]]:
        try:
            yield from split(polled, self._boundary, lambda: now)
        except BoundaryError as error:
            raise TaskFailedError(f"task {self.id}: {error}") from None

    def _poll(self) -> Sequence[PollBatch]:
        self.failure = None
        try:
            with faults_of(self.id):
                return read_poll_result(self._task.poll(), self.id)
        except RetriableError as failure:
            self.failure = failure
            return ()

    def _committed(self, batch: PollBatch, *, apart: bool) -> list[PollBatch]:
        """The parts of a batch that were committed."""
        goal, offsets = self._goal, batch.source_offsets
        if offsets is None:
            if apart:
                raise DamagedDataError(
                    f"task {self.id} returned a SourceBatch without `source_offsets`, so its records cannot be told "
                    f'apart: have the connector return them, or set "eosfw.identity" to "value" or "field:NAME"'
                )
            ((partition, offset),) = batch.positions
            return [batch] if goal.upto(partition, offset, self.id) else []
        found = []
        for start, end in _partition_runs(batch.source_partitions):
            number = goal.count(batch.source_partitions[start], offsets[start:end], self.id)
            if number:
                found.append(batch.part(start, start + number))
        for partition, offset in batch.positions:
            goal.upto(partition, offset, self.id)  # it may lie behind the last record, or there may be none
        return found


@contextmanager
def faults_of(task_id: ConnectorTaskId) -> Iterator[None]:
    """Put in a sentence whatever a connector's own code raises."""
    try:
        yield
    except EosfwError:
        raise
    except (Exception, SystemExit) as error:
        raise TaskFailedError(f"replay of task {task_id} failed: {described(error)}") from error


def _partition_runs(partitions: Sequence[SourcePartition]) -> Iterator[tuple[int, int]]:
    """Where records of one source partition begin and end."""
    start = 0
    for _, run in groupby(partitions, id):
        end = start + sum(1 for _ in run)
        yield start, end
        start = end
