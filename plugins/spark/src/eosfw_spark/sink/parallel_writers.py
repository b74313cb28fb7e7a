"""The writers of queries and DataFrames in mode `parallel` (Spark's `KafkaStreamingWrite`, `KafkaBatchWrite`)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from eosfw.errors import ConfigError, Problem
from eosfw_spark.executor_packages import reduce_with_import
from eosfw_spark.micro_batch import MicroBatch
from eosfw_spark.sink.arrow_stream_writer import ArrowStreamWriter
from eosfw_spark.sink.options import APPLICATION, VERSION, SinkOptions
from eosfw_spark.sink.parallel_write import ParallelWrite
from eosfw_spark.sink.partition_tokens import WriterBatch
from eosfw_spark.sink.staging import checkpoint_name


class ParallelStreamWriter(ArrowStreamWriter):
    """Publishes in the tasks; a batch is there as a whole once all of them have ended."""

    __reduce__ = reduce_with_import

    def __init__(self, options: SinkOptions, schema: StructType, checkpoint: str | None) -> None:
        self._write = ParallelWrite.prepare(options, schema)
        self._options, self._checkpoint = options, checkpoint_name(checkpoint)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish one task's rows."""
        return self._write.write(iterator, self._part(MicroBatch.in_task()))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Publish the tokens of writers without a partition."""
        self._write.complete(messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: what has landed stays, and the restarted query's tasks find it."""

    def _part(self, batch: MicroBatch) -> WriterBatch:
        options = self._options
        return WriterBatch(batch.query, batch.batch, 0, options.writers or 1, options.starting_batch, self._checkpoint)


class ParallelBatchWriter(DataSourceArrowWriter):
    """Publishes in the tasks; one object for the whole job, made on the driver."""

    __reduce__ = reduce_with_import

    def __init__(self, options: SinkOptions, schema: StructType, *, overwrite: bool) -> None:
        self._part = _identified(options)
        self._write = ParallelWrite.prepare(options, schema)
        if overwrite:
            raise ConfigError(Problem("", "format eosfw cannot overwrite a topic; write with mode append"))

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish one task's rows."""
        return self._write.write(iterator, self._part)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish the tokens of writers without a partition."""
        self._write.complete(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Do nothing: what has landed stays, and the job's next run finds it by its version."""


def _identified(options: SinkOptions) -> WriterBatch:
    if options.application is None or options.version is None:
        what = (
            f"mode parallel needs {APPLICATION} and {VERSION} for a DataFrame: by them a task that runs again finds "
            f"what it published; without them use mode atomic"
        )
        raise ConfigError(Problem("", what))
    return WriterBatch(options.application, options.version, 0, options.writers or 1, is_query=False)
