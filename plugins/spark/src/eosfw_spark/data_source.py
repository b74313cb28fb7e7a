"""The format `eosfw` of Spark (Spark's `KafkaSourceProvider`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from eosfw.errors import ConfigError, Problem
from eosfw_spark.sink.options import SinkMode, parse_sink, require_fit
from eosfw_spark.source.options import includes_headers, parse, parse_formats, parse_stream

if TYPE_CHECKING:
    from eosfw_spark.formats.typed_columns import TypedColumns

# Spark imports this module in several new processes per query, of which each needs one side: readers and writers are
# imported where they are made.


class EosfwDataSource(DataSource):
    """Topics as a DataFrame with the columns of Spark's Kafka source; `read_committed` by default."""

    @classmethod
    def name(cls) -> str:
        """The name for `format(...)`."""
        return "eosfw"

    _typed: TypedColumns | None = None

    def schema(self) -> StructType:
        """The columns; whether it is a batch or a stream is not known yet, so most options are read later.

        Schemas are looked up here alone: Spark keeps this object with what it found, and asks it for the readers.
        """
        from eosfw_spark.source.columns import spark_schema

        plain = spark_schema(headers=includes_headers(self.options))
        read = parse_formats(self.options)
        if read is None:
            return plain
        from eosfw_spark.source.schemas import look_up

        self._typed = look_up(read)
        return self._typed.spark_schema(plain)

    def _require_own_schema(self, schema: StructType) -> None:
        if self._typed is not None:
            return
        own = self.schema()
        if [(each.name, each.dataType) for each in schema] != [(each.name, each.dataType) for each in own]:
            what = (
                "the columns are those of Spark's Kafka source: leave out schema(...), and convert them by select, or "
                "give value.format with value.schema"
            )
            raise ConfigError(Problem("", what))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Create the reader, which plans on the driver and reads in the workers."""
        from eosfw_spark.source.batch_reader import EosfwReader

        self._require_own_schema(schema)
        return EosfwReader(replace(parse(self.options), typed=self._typed))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Create the reader of a stream, which plans beside the driver, where it also reads small batches."""
        from eosfw_spark.source.stream_reader import EosfwStreamReader

        self._require_own_schema(schema)
        options = parse_stream(self.options)
        return EosfwStreamReader(replace(options, read=replace(options.read, typed=self._typed)))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001 - Spark's signature
        """Create the writer of a DataFrame in the mode of the options."""
        from eosfw_spark.sink.atomic_write import AtomicBatchWriter
        from eosfw_spark.sink.parallel_write import ParallelBatchWriter

        options = parse_sink(self.options)
        require_fit(options, query=False)
        writer = ParallelBatchWriter if options.mode is SinkMode.PARALLEL else AtomicBatchWriter
        return writer(options, schema, overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: FBT001, N802 - Spark's
        """Create the writer of a query; `overwrite` is the output mode complete, whose rows are appended as well."""
        from eosfw_spark.sink.atomic_write import AtomicStreamWriter
        from eosfw_spark.sink.parallel_write import ParallelStreamWriter

        options = parse_sink(self.options)
        require_fit(options, query=True)
        checkpoint = self.options.get("checkpointLocation")
        if options.mode is SinkMode.PARALLEL:
            return ParallelStreamWriter(options, schema, checkpoint)
        return AtomicStreamWriter(options, schema, checkpoint, self.options.get("queryName"))
