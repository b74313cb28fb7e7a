"""Mode `parallel`: each task publishes its partition in a transaction of its own (Spark's `KafkaWriterFactory`)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType
from typing import Any, Final, TypeVar

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from eosfw.errors import ConfigError, Problem, StepFailedError
from eosfw_spark.executor_packages import reduce_with_import
from eosfw_spark.micro_batch import MicroBatch, announce
from eosfw_spark.python_process import PROCESS
from eosfw_spark.sink.arrow_stream_writer import ArrowStreamWriter
from eosfw_spark.sink.kept_clients import KeptClients
from eosfw_spark.sink.options import APPLICATION, VERSION, SinkOptions
from eosfw_spark.sink.partition_writer import PartitionWriter
from eosfw_spark.sink.rows import SinkColumns, sent_batch, sink_columns
from eosfw_spark.sink.staging import checkpoint_name
from eosfw_spark.sink.tokens.partition_token import WriterBatch

_T = TypeVar("_T")
WRITERS: Final = KeptClients(
    lambda identity, cluster, options: PartitionWriter(identity, cluster, options.topic, PROCESS.runtime())
)
"""Of the partitions that tasks of this process published."""


@dataclass
class WrittenMessage(WriterCommitMessage):
    """What a task tells the driver."""

    part: WriterBatch


@dataclass(frozen=True, slots=True)
class ParallelWrite:
    """What the writers of queries and of DataFrames do; made on the driver, sent to the tasks."""

    options: SinkOptions
    columns: SinkColumns

    @classmethod
    def prepare(cls, options: SinkOptions, schema: StructType) -> ParallelWrite:
        """Check the columns on the driver, before any task runs."""
        return cls(options, sink_columns(schema, options.topic, headers=options.headers))

    def write(self, rows: Iterable[pa.RecordBatch], part: WriterBatch) -> WrittenMessage:
        """Publish the rows of this task."""
        context = TaskContext.get()
        if context is None:
            raise StepFailedError("rows are published in a task of Spark only")
        own = replace(part, partition=context.partitionId())
        sent = (sent_batch(each, self.columns) for each in whole_input(rows))
        self._publish(own, sent)
        return WrittenMessage(own)

    def complete(self, messages: Sequence[Any]) -> None:
        """Publish tokens without rows for the writers that had no partition, so that each has one of every batch.

        So a writer whose token is missing or old shows that the checkpoint does not fit what was published. Nothing is
        to be done for a DataFrame with as many partitions as there are writers.
        """
        written = {each.part.partition: each.part for each in messages}
        for any_part in list(written.values())[:1]:
            for idle in sorted(set(range(any_part.writers)) - set(written)):
                self._publish(replace(any_part, partition=idle), ())

    def _publish(self, part: WriterBatch, rows: Iterable[pa.RecordBatch]) -> None:
        identity = part.identity(part.partition)
        writer, _ = WRITERS.get(identity, self.options)
        tell = partial(
            announce,
            query=part.query,
            batch=part.batch,
            partition=part.partition,
            transactional_id=identity.transactional_id,
        )
        writer.write(part, rows, tell)


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


def whole_input(rows: Iterable[_T]) -> Iterator[_T]:
    """Pass on the rows of this task; StepFailedError if they broke off, which Arrow takes for their end.

    Where a task is cancelled, or what computes its rows fails, Spark closes the connection to this process, which knows
    nothing of it. Behind the last of all rows Spark sends one word more.
    """
    yield from rows
    if not _is_open(_connection()):
        raise StepFailedError("the rows of this task broke off: it was cancelled, or what computes them failed")


def _is_open(connection: Any) -> bool:
    try:
        return bool(connection.peek(1))
    except OSError:
        return False


def _connection() -> Any:
    """What `pyspark.worker` reads from, which it passes on to nobody."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - no other way
    while frame is not None:
        if frame.f_code.co_name == "main" and "infile" in frame.f_locals:
            return frame.f_locals["infile"]
        frame = frame.f_back
    raise StepFailedError("this version of PySpark does not tell where a task's rows end: use mode atomic")
