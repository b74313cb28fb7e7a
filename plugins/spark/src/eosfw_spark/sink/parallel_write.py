"""Mode `parallel`: each task publishes its partition in a transaction of its own (Spark's `KafkaWriterFactory`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import StepFailedError
from eosfw_spark.micro_batch import announce
from eosfw_spark.sink.kept_clients import KeptClients
from eosfw_spark.sink.options import SinkOptions
from eosfw_spark.sink.partition_tokens import WriterBatch
from eosfw_spark.sink.partition_writer import PartitionWriter, WrittenPartition
from eosfw_spark.sink.rows import SinkColumns, sent_batch, sink_columns
from eosfw_spark.sink.whole_input import whole_input

WRITERS: Final = KeptClients(
    lambda identity, cluster, options: PartitionWriter(identity, cluster, options.topic, ThreadRuntime())
)
"""Of the partitions that tasks of this process published."""


@dataclass
class WrittenMessage(WriterCommitMessage):
    """What a task tells the driver."""

    part: WriterBatch
    written: WrittenPartition


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
        return WrittenMessage(own, self._publish(own, sent))

    def complete(self, messages: Sequence[Any]) -> None:
        """Publish tokens without rows for the writers that had no partition, so that each has one of every batch.

        So a writer whose token is missing or old shows that the checkpoint does not fit what was published. Nothing is
        to be done for a DataFrame with as many partitions as there are writers.
        """
        written = {each.part.partition: each.part for each in messages}
        for any_part in list(written.values())[:1]:
            for idle in sorted(set(range(any_part.writers)) - set(written)):
                self._publish(replace(any_part, partition=idle), ())

    def _publish(self, part: WriterBatch, rows: Iterable[pa.RecordBatch]) -> WrittenPartition:
        identity = part.identity(part.partition)
        writer, _ = WRITERS.get(identity, self.options)
        tell = partial(
            announce,
            query=part.query,
            batch=part.batch,
            partition=part.partition,
            transactional_id=identity.transactional_id,
        )
        return writer.write(part, rows, tell)
