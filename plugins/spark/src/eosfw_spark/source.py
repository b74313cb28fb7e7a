"""The data source behind `spark.read.format("eosfw")`: a batch read of what a cluster committed."""

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
    """Topics as a DataFrame with the columns of Spark's Kafka source, read_committed unless told otherwise."""

    @classmethod
    def name(cls) -> str:
        """What `format(...)` says."""
        return "eosfw"

    def schema(self) -> StructType:
        """The columns; wrong options are found here, before anything runs."""
        from eosfw_spark.columns import spark_schema

        return spark_schema(headers=parse(self.options).headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Make the reader that plans on the driver and reads in the workers."""
        return EosfwReader(parse(self.options))


class SplitPartition(InputPartition):
    """What Spark hands to one task."""

    def __init__(self, split: Split) -> None:
        super().__init__(split)
        self.split = split


class EosfwReader(DataSourceReader):
    """Plans once on the driver, so that all tasks agree on where the topics end; each task opens its own client."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """Cut what is to be read into shares."""
        ranges = explicit_ranges(self._options) or self._ranges()
        return [SplitPartition(split) for split in split_ranges(ranges, self._options.min_partitions)]

    def _ranges(self) -> Ranges:
        with open_reader(self._options) as reader:
            return ranges_to_read(self._options, reader.bounds(self._options.topics))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one share as Arrow batches."""
        # Spark makes up one partition without content when there is nothing to read.
        if not isinstance(partition, SplitPartition):
            return
        from eosfw_spark.columns import arrow_batches

        split = partition.split
        with open_reader(self._options) as reader:
            shown = reader.read({split.partition: split.offsets}, self._options.stall_timeout)
            yield from arrow_batches(_batches(shown), headers=self._options.headers)


@cache
def plugins() -> Plugins:
    """What is installed, looked up once per process: finding it takes as long as connecting."""
    return load_plugins()


@contextmanager
def open_reader(options: ReadOptions) -> Iterator[IsolationReader]:
    """Connect to the cluster from whatever process this is; the plugins are looked up here, nothing is pickled."""
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
