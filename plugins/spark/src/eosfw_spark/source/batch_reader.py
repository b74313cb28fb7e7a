"""A batch read of committed records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from eosfw.errors import DamagedDataError
from eosfw.protocols import Gap, GapReason
from eosfw.records import LogBatch
from eosfw_spark.clients import open_reader
from eosfw_spark.source.offset_ranges import Ranges, Split, explicit_ranges, never_asked, ranges_to_read, split_ranges
from eosfw_spark.source.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa


class SplitPartition(InputPartition):
    """The input partition of one Spark task."""

    def __init__(self, split: Split) -> None:
        super().__init__(split)
        self.split = split


class EosfwReader(DataSourceReader):
    """Plans on the driver, so that all tasks use the same end offsets; each task opens a client of its own."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Split the ranges into input partitions."""
        ranges = explicit_ranges(self._options) or self._ranges()
        return [SplitPartition(split) for split in split_ranges(ranges, self._options.min_partitions)]

    def _ranges(self) -> Ranges:
        options = self._options
        with open_reader(options.backend, options.properties, options.reader, headers=options.headers) as reader:
            return ranges_to_read(options, reader.bounds(options.topics), never_asked)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one input partition as Arrow batches."""
        # If there is nothing to read, Spark passes one partition of another class.
        if isinstance(partition, SplitPartition):
            yield from read_split(partition.split, self._options)


def read_split(split: Split, options: ReadOptions) -> Iterator[pa.RecordBatch]:
    """Read one range as Arrow batches, in the process of a Spark task."""
    from eosfw_spark.source.columns import arrow_batches

    with open_reader(options.backend, options.properties, options.reader, headers=options.headers) as reader:
        shown = reader.read({split.partition: split.offsets}, options.stall_timeout)
        yield from arrow_batches(_batches(shown), headers=options.headers)


def _batches(shown: Iterable[LogBatch | Gap]) -> Iterator[LogBatch]:
    for each in shown:
        if isinstance(each, LogBatch):
            yield each
        elif each.reason is GapReason.LOST:
            raise DamagedDataError(
                f"{each.partition} lost the offsets {each.offsets.start} to {each.offsets.end - 1}: {each.reason.value}"
            )
