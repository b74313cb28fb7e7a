"""A stream of committed records (Spark's `KafkaMicroBatchStream`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.datasource_internal import _SimpleStreamReaderWrapper

from eosfw.concurrency import ThreadRuntime
from eosfw.observe import TaskStep
from eosfw.records import OffsetRange
from eosfw_spark.micro_batch import MicroBatch, announce
from eosfw_spark.source.admission_control import delay_batch, limits_of, new_offsets, rate_limit, shares
from eosfw_spark.source.batch_reader import SplitPartition, read_arrow
from eosfw_spark.source.data_loss import DataLoss, DataLossReason, find_data_losses, report_data_losses, resumed_offsets
from eosfw_spark.source.held_partitions import HeldPartitions
from eosfw_spark.source.offset_range_limit import Offsets
from eosfw_spark.source.offset_ranges import Ranges, Split, partitions_to_read, split_ranges
from eosfw_spark.source.offset_reader import OffsetReader
from eosfw_spark.source.options import ReadLimits, StreamOptions
from eosfw_spark.source.source_offset import (
    from_offsets,
    gone_offsets,
    initial_offsets,
    planned_end,
    require_forward,
    require_subscribed,
    resumed_offsets_of,
    returned_offsets,
    to_offsets,
    topic_ids_of,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.datasource import ReadLimit

LIMITS: Final = find_spec("pyspark.sql.streaming.datasource") is not None
"""Whether this Spark states read limits: PySpark 4.2 and later."""
if LIMITS or TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
else:

    class SupportsTriggerAvailableNow:
        """Stands for what this PySpark lacks: it has a run with availableNow end after one batch."""


logger = logging.getLogger(__name__)
LARGEST: Final = 4 << 20
"""Bytes of records that are read beside the driver; more would fill its memory, and takes its time in a task, too."""
Offset = Mapping[str, Any]


class EosfwStreamReader(SupportsTriggerAvailableNow, DataSourceStreamReader):
    """Plans each micro-batch in a process beside the driver; its tasks read what it does not, or read it again."""

    def __init__(self, options: StreamOptions) -> None:
        self._given = options
        self._options = options.read
        self._limits = options.limits
        self._runtime = ThreadRuntime()
        self._cluster = OffsetReader(options.read, self._runtime)
        high_watermarks = partial(self._cluster.high_watermarks, once=True)
        self._held = HeldPartitions(options.read, self._runtime, high_watermarks)
        self._initial: dict[str, Any] | None = None
        self._reached: Offset | None = None
        self._target: Offsets | None = None
        self._latest: Offsets = {}
        self._begun: float | None = None
        self._warned = False
        self._prefetched: list[pa.RecordBatch] = []

    # --- what Spark calls on the driver

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a new query begins."""
        if self._initial is None:
            self._initial = from_offsets(self._cluster.starting_offsets())
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limit that Spark passes back to `latestOffset`, unless its trigger reads all at once."""
        from pyspark.sql.streaming import datasource

        limits = self._limits
        if limits.max_offsets is not None:
            return datasource.ReadMaxRows(limits.max_offsets)
        if limits.max_bytes is not None:
            return datasource.ReadMaxBytes(limits.max_bytes)
        if limits.min_offsets is not None:
            return datasource.ReadMinRows(limits.min_offsets)
        return datasource.ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the end of this run: what is committed later belongs to the next one."""
        self._target = {each: offsets.end for each, offsets in self._cluster.bounds().items()}
        self._held.look(self._target, at_once=True)

    def latestOffset(self, start: Offset | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:  # noqa: N802
        """The end of the next batch; Spark before 4.2 passes neither the start nor a limit."""
        if start is None:
            start = self.initialOffset() if self._reached is None else self._reached
        before = to_offsets(start)
        require_subscribed(before, self._options)
        bounds, ids = self._cluster.bounds_and_ids()
        self._latest = self._available(bounds)
        returned = returned_offsets(start, bounds, ids)
        before.update(returned)
        positions = {each: before.get(each, 0) for each in {*before, *self._latest}}
        first = start == self._initial
        # A new query has read nothing of another topic: where it begins behind the end, it goes on there.
        known = ids if first else {**topic_ids_of(start), **{each.topic: ids[each.topic] for each in returned}}
        losses = self._not_held_back(find_data_losses(positions, bounds, known, ids), positions)
        self._report(losses, bounds)
        begin = resumed_offsets(positions, losses)
        end = self._admitted(begin, limits_of(limit, self._limits), at_once=bool(losses))
        # A loss is told once: a batch records it at once, even one without rows.
        if end == before and not (first or losses):
            return dict(start)
        moved = [*returned, *(loss.partition for loss in losses)]
        resumed = {each: begin[each] for each in moved if each in begin}
        gone = gone_offsets(start, {each: positions[each] for each in moved if each not in begin}, returned, known, ids)
        # Spark keeps no beginning of batch 0: a restart would begin anew, at what is then the latest or earliest.
        planned = planned_end(end, ids, resumed=resumed, gone=gone, initial=start if first else None)
        announce(TaskStep.PLAN_BATCH, query=self._topics(), batch=None, start=dict(start), end=planned)
        return planned

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """For the query's progress: the last stable offsets, and the transactions that hold them back."""
        if not self._latest:
            return None
        return {**from_offsets(self._latest), **self._held.report(self._latest)}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The input partitions of a batch, which depend on nothing but its two offsets, its records and the options."""
        self._reached = end
        begin, ends, ids = self._beginning(start, end), to_offsets(end), topic_ids_of(end)
        require_forward(begin, ends)
        ranges = {each: OffsetRange(begin.get(each, 0), position) for each, position in ends.items()}
        planned = split_ranges(ranges, self._options.min_partitions, self._options.max_records)
        splits = [replace(each, topic_id=ids.get(each.partition.topic)) for each in planned]
        return [SplitPartition(*splits)] if self._prefetch(splits) else [SplitPartition(each) for each in splits]

    def commit(self, end: Offset) -> None:
        """Do nothing: Spark's checkpoint holds the progress, and Spark never says so of the last batch."""

    def stop(self) -> None:
        """Close the clients."""
        self._cluster.close()

    # --- what Spark calls in a task

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one input partition as Arrow batches."""
        # If there is nothing to read, Spark passes one partition of another class.
        if not isinstance(partition, SplitPartition):
            return
        if (batch := MicroBatch.of_task()) is not None:
            for split in partition.splits:
                number = split.partition.partition
                announce(TaskStep.READ_BATCH, query=batch.query, batch=batch.batch, partition=number, split=split)
        yield from read_arrow(partition.splits, self._options)

    # --- decisions

    def _prefetch(self, splits: Sequence[Split]) -> bool:
        """Read a small batch now; whether Spark is to take its rows from here.

        Handing few rows to Python in tasks takes longer than reading them. Spark takes rows from here only if the
        reader is its wrapper of a `SimpleDataSourceStreamReader`: with the plan of a batch it then asks for the rows,
        keeps them as a block, and one task takes them from it. If the block is lost, that task reads the records.
        """
        from eosfw_spark.source.columns import arrow_batches

        options, size = self._options, sum(each.offsets.end - each.offsets.start for each in splits)
        # Who says how a batch is divided among tasks wants tasks.
        if options.min_partitions or options.max_records or not 0 < size <= self._given.prefetch_offsets:
            return False
        announce(TaskStep.READ_BATCH, query=self._topics(), batch=None, splits=splits)
        found = self._cluster.records(splits, LARGEST)
        if found is None:
            return False
        self._prefetched = list(arrow_batches(found, headers=options.headers, typed=options.typed))
        self.__class__ = _PrefetchedStreamReader
        return True

    def _available(self, bounds: Ranges) -> Offsets:
        """The ends of all that may be read now, which for availableNow is what there was at its start."""
        ends = {each: offsets.end for each, offsets in bounds.items()}
        if self._target is None:
            self._held.look(ends)
            return ends
        return {each: min(end, ends[each]) for each, end in self._target.items() if each in ends}

    def _not_held_back(self, losses: Sequence[DataLoss], positions: Offsets) -> Sequence[DataLoss]:
        """The losses without records that an open transaction only hides from a query which begins behind them."""
        short = [each.partition for each in losses if each.reason is DataLossReason.TRUNCATED]
        if not short:
            return losses
        high = self._cluster.high_watermarks({each: positions[each] for each in short})
        held = [each for each in short if positions[each] <= high[each]]
        return [each for each in losses if each.partition not in held]

    def _report(self, losses: Sequence[DataLoss], bounds: Ranges) -> None:
        report_data_losses(losses, fail=self._options.fail_on_data_loss)
        # Where a loss is accepted, its topic need not exist; if it is created again, it is read like a new one.
        if self._options.fail_on_data_loss:
            partitions_to_read(self._options, bounds)

    def _admitted(self, start: Offsets, limits: ReadLimits, *, at_once: bool) -> Offsets:
        """The ends of the next batch within the limits; `at_once` there is one, even if it could wait for more."""
        latest, now = self._latest, self._runtime.now()
        waited = limits.max_delay if self._begun is None else now - self._begun
        # A run with availableNow is to end, so it never waits for more.
        if self._target is None and not at_once and delay_batch(limits, start, latest, waited):
            return start
        self._begun = now
        end = latest
        if limits.max_offsets is not None:
            end = rate_limit(limits.max_offsets, start, end)
        if limits.max_bytes is not None:
            end = self._limit_bytes(limits.max_bytes, start, end)
        if end != latest and not LIMITS and not self._warned:
            self._warned = True
            logger.warning("PySpark before 4.2 ends a run with availableNow after one batch, which a limit cuts short")
        # What a run with availableNow did not see at its start belongs to the next one, which goes on there.
        return {each: max(end.get(each, 0), start.get(each, 0)) for each in {**start, **end}}

    def _limit_bytes(self, limit: int, start: Offsets, latest: Offsets) -> Offsets:
        ends = dict(latest)
        for each, share in shares(limit, new_offsets(start, latest)).items():
            ends[each] = self._cluster.end_within(each, OffsetRange(start.get(each, 0), latest[each]), share)
        return ends

    def _beginning(self, start: Offset, end: Offset) -> Offsets:
        """Where a batch begins: its end says where batch 0 did, for a restart, and where lost records are left out."""
        recorded = initial_offsets(end) if start == self._initial else None
        before = to_offsets(start) if recorded is None else recorded
        # Spark before 4.2 tells a restarted query its last offset so: as both, the start and the end.
        return before if start == end else {**before, **resumed_offsets_of(end)}

    def _topics(self) -> str:
        """What stands for the query until a task knows its id: Spark tells it to no one before."""
        pattern = self._options.pattern
        return ",".join(self._options.topics) if pattern is None else pattern.pattern


class _PrefetchedStreamReader(EosfwStreamReader, _SimpleStreamReaderWrapper):
    """The reader from the plan of a prefetched batch until Spark has taken its rows: it asks only this class for them.

    At other times it would take too much for granted, such as that there is nothing to report of the latest offsets.
    """

    def getCache(self, start: Offset, end: Offset) -> Iterator[pa.RecordBatch]:  # noqa: N802 - Spark's name
        """Hand the rows over."""
        rows, self._prefetched = self._prefetched, []
        self.__class__ = EosfwStreamReader  # type: ignore[assignment]
        return iter(rows)
