"""The data source `spark.read.format("eosfw")`: a batch read of committed records (Spark's `KafkaSourceProvider`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import DamagedDataError
from eosfw.protocols import Gap, GapReason, IsolationReader
from eosfw.records import LogBatch
from eosfw.registry import Plugins, load_plugins, parts
from eosfw_spark.offset_ranges import Ranges, Split, explicit_ranges, ranges_to_read, split_ranges
from eosfw_spark.options import ReadOptions, parse

if TYPE_CHECKING:
    import pyarrow as pa


class EosfwDataSource(DataSource):
    """Topics as a DataFrame with the columns of Spark's Kafka source; `read_committed` by default."""

    @classmethod
    def name(cls) -> str:
        """The name for `format(...)`."""
        return "eosfw"

    def schema(self) -> StructType:
        """The columns; wrong options raise here, before a job starts."""
        from eosfw_spark.columns import spark_schema

        return spark_schema(headers=parse(self.options).headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Create the reader, which plans on the driver and reads in the workers."""
        return EosfwReader(parse(self.options))


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
        with open_reader(self._options) as reader:
            return ranges_to_read(self._options, reader.bounds(self._options.topics))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one input partition as Arrow batches."""
        # If there is nothing to read, Spark passes one partition of another class.
        if not isinstance(partition, SplitPartition):
            return
        from eosfw_spark.columns import arrow_batches

        split = partition.split
        with open_reader(self._options) as reader:
            shown = reader.read({split.partition: split.offsets}, self._options.stall_timeout)
            yield from arrow_batches(_batches(shown), headers=self._options.headers)


@cache
def plugins() -> Plugins:
    """The installed plugins, loaded once per process: that takes as long as connecting."""
    return load_plugins()


@contextmanager
def open_reader(options: ReadOptions) -> Iterator[IsolationReader]:
    """Connect to the cluster from this process, driver or worker; nothing of it is pickled."""
    installed = plugins()
    runtime = ThreadRuntime()
    backend = installed.backend(options.backend).connect(options.properties, runtime)
    try:
        reader = parts.isolation_reader(installed, options.reader, backend, runtime, headers=options.headers)
        try:
            yield reader
        finally:
            reader.close()
    finally:
        backend.close()


def _batches(shown: Iterable[LogBatch | Gap]) -> Iterator[LogBatch]:
    for each in shown:
        if isinstance(each, LogBatch):
            yield each
        elif each.reason is GapReason.LOST:
            raise DamagedDataError(
                f"{each.partition} lost the offsets {each.offsets.start} to {each.offsets.end - 1}: {each.reason.value}"
            )
