"""A stream of committed records (Spark's `KafkaMicroBatchStream`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from eosfw.errors import ConfigError, Problem
from eosfw.observe import TaskStep
from eosfw.records import OffsetRange
from eosfw_spark.micro_batch import MicroBatch, announce
from eosfw_spark.source.admission_control import Offsets, admitted
from eosfw_spark.source.batch_reader import SplitPartition, read_split
from eosfw_spark.source.cluster_view import ClusterView
from eosfw_spark.source.offset_range_limit import GlobalTimestampRangeLimit, SpecificTimestampRangeLimit
from eosfw_spark.source.offset_ranges import split_ranges
from eosfw_spark.source.options import ReadLimits, StreamOptions
from eosfw_spark.source.source_offset import from_offsets, to_offsets

if TYPE_CHECKING:
    import pyarrow as pa

LIMITS: Final = find_spec("pyspark.sql.streaming.datasource") is not None
"""Whether this Spark states read limits: PySpark 4.2 and later."""
if LIMITS:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )


def stream_reader(options: StreamOptions) -> DataSourceStreamReader:
    """The reader of a stream for this version of PySpark."""
    _refuse_what_is_not_supported_yet(options)
    return LimitedStreamReader(options) if LIMITS else EosfwStreamReader(options)


def _refuse_what_is_not_supported_yet(options: StreamOptions) -> None:
    timed = isinstance(options.read.start, GlobalTimestampRangeLimit | SpecificTimestampRangeLimit)
    limited = options.limits != ReadLimits(options.limits.max_offsets)
    if timed or limited or options.read.pattern is not None or not options.read.fail_on_data_loss:
        raise ConfigError(
            Problem(
                "", "a stream takes no timestamps, pattern, failOnDataLoss=false, or limit but maxOffsetsPerTrigger yet"
            )
        )


class EosfwStreamReader(DataSourceStreamReader):
    """Plans micro-batches on the driver, up to the last stable offset; tasks read with clients of their own.

    This class serves PySpark 4.0 and 4.1, whose Spark does not say where a batch starts: the first batch after a
    restart takes all that is new.
    """

    def __init__(self, options: StreamOptions) -> None:
        self._options = options.read
        self._limits = options.limits
        self._cluster = ClusterView(options.read)
        self._planned: Offsets | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a new query starts; a query with a checkpoint goes on where that ends."""
        self._planned = self._cluster.starts()
        return from_offsets(self._planned)

    def latestOffset(self) -> dict[str, Any]:  # type: ignore[override] # noqa: N802
        """The end of the next batch."""
        latest = self._cluster.ends()
        most = self._limits.max_offsets
        if self._planned is not None and most is not None:
            latest = admitted(self._cluster.with_new_partitions(self._planned, latest), latest, most)
        self._planned = latest
        return self._announced(latest)

    def _announced(self, end: Offsets) -> dict[str, Any]:
        announce(TaskStep.PLAN_BATCH, query=",".join(sorted({each.topic for each in end})), batch=None)
        return from_offsets(end)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Split the ranges between two offsets into input partitions."""
        ends = to_offsets(end)
        starts = self._cluster.with_new_partitions(to_offsets(start), ends)
        self._cluster.require(starts, ends)
        ranges = {each: OffsetRange(starts[each], ends[each]) for each in ends}
        return [SplitPartition(split) for split in split_ranges(ranges, self._options.min_partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one input partition as Arrow batches."""
        if not isinstance(partition, SplitPartition):
            return
        batch = MicroBatch.of_task()
        if batch is not None:
            announce(
                TaskStep.READ_BATCH, query=batch.query, batch=batch.batch, partition=partition.split.partition.partition
            )
        yield from read_split(partition.split, self._options)

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: Spark's checkpoint holds the progress, and Spark never says so of the last batch."""

    def stop(self) -> None:
        """Close the client on the driver."""
        self._cluster.close()


if LIMITS:

    class LimitedStreamReader(EosfwStreamReader, SupportsTriggerAvailableNow):
        """Plans batches within the read limits that Spark states (PySpark 4.2 and later)."""

        _target: Offsets | None = None

        def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
            """The limit that the options ask for."""
            most = self._limits.max_offsets
            return ReadAllAvailable() if most is None else ReadMaxRows(most)

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
            """Fix the end: what is committed later belongs to the next run."""
            self._target = self._cluster.ends()

        def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # type: ignore[override] # noqa: N802
            """The end of the batch that begins at `start`."""
            latest = self._cluster.ends() if self._target is None else self._target
            begin = self._cluster.with_new_partitions(to_offsets(start), latest)
            # A target from before a restart may lie behind the checkpoint.
            latest = {each: max(end, begin[each]) for each, end in latest.items()}
            self._cluster.require(begin, latest)
            if isinstance(limit, ReadMaxRows):
                latest = admitted(begin, latest, limit.max_rows)
            return self._announced(latest)

        def reportLatestOffset(self) -> Mapping[str, Any] | None:  # type: ignore[override] # noqa: N802
            """For the query's progress: the last stable offsets, and the transactions that hold them back."""
            return self._cluster.report()
