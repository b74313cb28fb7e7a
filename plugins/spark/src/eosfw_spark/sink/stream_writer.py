"""The writer of a query's batches in mode `atomic` (Spark's `KafkaStreamingWrite`)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import StructType

from eosfw_spark.executor_packages import reduce_with_import
from eosfw_spark.micro_batch import MicroBatch
from eosfw_spark.sink.arrow_stream_writer import ArrowStreamWriter
from eosfw_spark.sink.atomic_write import AtomicWrite, Numbered
from eosfw_spark.sink.options import SinkOptions
from eosfw_spark.sink.token_producer import TokenIdentity
from eosfw_spark.sink.tokens import BatchContent, Token, TokenDecision, decide


class AtomicStreamWriter(ArrowStreamWriter):
    """Stages in the tasks, publishes on the driver; Spark makes a new one for each step of each batch."""

    __reduce__ = reduce_with_import

    def __init__(self, options: SinkOptions, schema: StructType, checkpoint: str | None) -> None:
        self._write = AtomicWrite.prepare(options, schema, checkpoint)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage one task's rows."""
        return self._write.stage(iterator, MicroBatch.in_task())

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Publish the batch; an error fails the query, and its restart brings the same batch again."""
        self._write.publish(messages, self._numbered)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: the commit may have succeeded. The next commit removes what is staged."""

    def _numbered(self, batch: MicroBatch) -> Numbered:
        first, checkpoint = self._write.options.starting_batch, self._write.checkpoint

        def decided(last: Token | None, content: BatchContent) -> TokenDecision:
            return decide(batch.query, last, batch.batch, content, first=first, checkpoint=checkpoint)

        return Numbered(TokenIdentity.of_query(batch.query), batch.batch, decided, batch.batch == first)
