"""The replay of one task: a fresh task polled for the records that were committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from eosfw.connectors import SourceTask
from eosfw.errors import DamagedDataError
from eosfw.ids import ConnectorTaskId
from eosfw.pipeline.verdicts.fresh_task import FreshTask
from eosfw.protocols import OffsetStore
from eosfw.records import SourceOffset, SourcePartition
from eosfw.runtime.records.stages import RecordStages
from eosfw.state.tasks.boundary import Boundary
from eosfw.state.tasks.poll_batch import PollBatch

_IDLE_TIMEOUT = 5.0
"""Seconds without a record after which a source that cannot tell its end counts as exhausted."""
_MAX_UNCOMMITTED_POLLS = 100_000
"""Polls in a row without a committed record after which a source without end counts as exhausted."""


@dataclass(slots=True)
class ReplayGoal:
    """How far each source partition was committed; partitions that have come so far are removed."""

    store: OffsetStore
    remaining: dict[str, tuple[SourcePartition, SourceOffset]]
    _owners: dict[str, ConnectorTaskId] = field(default_factory=dict)
    _last: tuple[SourcePartition, dict[str, Any], ConnectorTaskId, str] | None = None

    def reach(self, partition: SourcePartition, offset: SourceOffset, task: ConnectorTaskId) -> bool:
        """Whether the records before this offset were committed; removes the partition at its committed offset."""
        key = self._key(partition, task)
        wanted = self.remaining.get(key)
        if wanted is None:
            return False
        if dict(offset) == dict(wanted[1]):
            del self.remaining[key]
        return True

    def count_committed(
        self, partition: SourcePartition, offsets: Sequence[SourceOffset], task: ConnectorTaskId
    ) -> int:
        """How many of the records with these offsets were committed; removes the partition as `reach` does."""
        key = self._key(partition, task)
        wanted = self.remaining.get(key)
        if wanted is None or not offsets:
            return 0
        plain, goal = offsets if type(offsets[0]) is dict else list(map(dict, offsets)), dict(wanted[1])
        try:
            first = plain.index(goal)
        except ValueError:
            return len(offsets)
        del self.remaining[key]
        # All that a connector makes of one row may have that row's offset.
        return next((at for at in range(first + 1, len(plain)) if plain[at] != goal), len(plain))

    def _key(self, partition: SourcePartition, task: ConnectorTaskId) -> str:
        last = self._last
        # Records of one partition follow each other: to compare is cheaper than to encode again.
        if last is not None and last[0] is partition and last[1] == partition and last[2] is task:
            return last[3]
        key = self.store.partition_key(partition)
        owner = self._owners.setdefault(key, task)
        if owner != task:
            raise DamagedDataError(
                f"tasks {owner} and {task} both give records of source partition {dict(partition)}, so each of them is "
                f"written twice: `task_configs` must give a source partition to one task alone, and no task may return "
                f"what another one has read, from a list of their class for example"
            )
        self._last = (partition, dict(partition), task, key)
        return key


class TaskReplay(FreshTask):
    """A fresh task that is polled for the records that were committed."""

    def __init__(
        self,
        task: Callable[[], SourceTask],
        task_id: ConnectorTaskId,
        boundary: Boundary,
        committed: ReplayGoal,
        stages: RecordStages | None = None,
    ) -> None:
        super().__init__(task, task_id, boundary, stages, "replay of task")
        self._positions = committed
        self._idle_since: float | None = None
        self._uncommitted_polls = 0

    def is_over(self, now: float) -> bool:
        """Whether nothing that was committed is to be expected of it any more."""
        if self.busy:
            return self._uncommitted_polls >= _MAX_UNCOMMITTED_POLLS
        idle_since = now if self._idle_since is None else self._idle_since
        ended = self.failure is None and self.at_end()
        return ended or now - idle_since > _IDLE_TIMEOUT

    def poll_committed(self, now: float, *, record_offsets: bool) -> Sequence[PollBatch]:
        """Its next records that were committed, in the columns in which it gave them."""
        known = len(self.open)
        ended = list(self.poll(now, lambda batch: self._committed(batch, record_offsets=record_offsets)))
        self._idle_since = None if self.busy else now if self._idle_since is None else self._idle_since
        self._uncommitted_polls = 0 if ended or len(self.open) > known or not self.busy else self._uncommitted_polls + 1
        return ended

    def _committed(self, batch: PollBatch, *, record_offsets: bool) -> list[PollBatch]:
        """The parts of a batch that were committed."""
        committed, offsets = self._positions, batch.source_offsets
        if offsets is None:
            if record_offsets:
                raise DamagedDataError(
                    f"task {self.id} returned a SourceBatch without `source_offsets`, so its records cannot be told "
                    f'apart: have the connector return them, or set "eosfw.identity" to "value" or "field:NAME"'
                )
            ((partition, offset),) = batch.positions
            return [batch] if committed.reach(partition, offset, self.id) else []
        found = []
        for start, end in _partition_runs(batch.source_partitions):
            number = committed.count_committed(batch.source_partitions[start], offsets[start:end], self.id)
            if number:
                found.append(batch.part(start, start + number))
        for partition, offset in batch.positions:
            # It may lie behind the last record, and a batch may have no record.
            committed.reach(partition, offset, self.id)
        return found


def _partition_runs(partitions: Sequence[SourcePartition]) -> Iterator[tuple[int, int]]:
    """The start and end of each sequence of records of one source partition."""
    start = 0
    for _, run in groupby(partitions, id):
        end = start + sum(1 for _ in run)
        yield start, end
        start = end
