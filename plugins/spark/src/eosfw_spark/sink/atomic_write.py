"""Mode `atomic`: tasks stage rows, the driver publishes all of them in one transaction (Spark's `StreamingWrite`)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from eosfw.errors import ConfigError, Problem, StepFailedError
from eosfw_spark.executor_packages import reduce_with_import
from eosfw_spark.micro_batch import MicroBatch, announce
from eosfw_spark.python_process import PROCESS
from eosfw_spark.sink.arrow_stream_writer import ArrowStreamWriter
from eosfw_spark.sink.committer import AtomicCommitter, CommitBatch
from eosfw_spark.sink.kept_clients import KeptClients
from eosfw_spark.sink.options import SinkOptions
from eosfw_spark.sink.rows import SinkColumns, sent_batch, sink_columns
from eosfw_spark.sink.staged_batch import StagedBatch, StagedTask, remove_staged, stage_task
from eosfw_spark.sink.staging import Staging, checkpoint_name, offset_log_entry, write_folder
from eosfw_spark.sink.tokens.token import Token, TokenDecision, decide, decide_write
from eosfw_spark.sink.tokens.token_producer import TokenIdentity

_SESSION_CHECKPOINTS: Final = "spark.sql.streaming.checkpointLocation"
COMMITTERS: Final = KeptClients(lambda identity, cluster, _: AtomicCommitter(identity, cluster, PROCESS.runtime()))
"""Of the queries whose batches this process commits."""


@dataclass(frozen=True, slots=True)
class AtomicWrite:
    """What the writers of queries and of DataFrames do; made on the driver, sent to the tasks."""

    options: SinkOptions
    columns: SinkColumns
    staging: Staging
    checkpoint: str = ""
    query_name: str = ""

    @classmethod
    def prepare(
        cls, options: SinkOptions, schema: StructType, checkpoint: str | None = None, query_name: str | None = None
    ) -> AtomicWrite:
        """Check columns and staging location on the driver, before any task runs."""
        columns = sink_columns(schema, options.topic, headers=options.headers)
        staging = Staging.prepare(options.staging_location, checkpoint)
        return cls(options, columns, staging, checkpoint_name(checkpoint), query_name or "")

    def stage(self, rows: Iterable[pa.RecordBatch], batch: MicroBatch) -> StagedTask:
        """Stage the rows of this task."""
        context = TaskContext.get()
        if context is None:
            raise StepFailedError("rows are staged in a task of Spark only")
        sent = (sent_batch(each, self.columns) for each in rows)
        return stage_task(sent, batch, context.partitionId(), self.staging, self._session_checkpoint(context))

    def _session_checkpoint(self, context: TaskContext) -> str:
        """The writer is not told of it, its tasks are. A query without a name has another one in each run."""
        location = context.getLocalProperty(_SESSION_CHECKPOINTS)
        return f"{location}/{self.query_name}" if location and self.query_name and not self.checkpoint else ""

    def publish(
        self,
        staged: StagedBatch,
        identity: TokenIdentity,
        number: int,
        decide: Callable[[Token | None], TokenDecision],
        *,
        checkpoint: str = "",
        planned: str = "",
        anew: bool,
    ) -> None:
        """Publish what the tasks staged, in one transaction with the token, unless it was published already."""
        topic, now = self.options.topic, round(PROCESS.runtime().wall() * 1000)
        committer, is_new = COMMITTERS.get(identity, self.options)
        batch = CommitBatch(
            number,
            staged.content,
            staged.topics(topic),
            lambda: staged.rows(self.staging, topic, now),
            decide,
            checkpoint,
            planned,
            anew,
        )
        tell = partial(announce, query=identity.query, batch=number, transactional_id=identity.transactional_id)
        committer.commit(batch, tell)
        if is_new or staged.in_files:
            remove_staged(self.staging, staged.batch)


class AtomicStreamWriter(ArrowStreamWriter):
    """Of a query (Spark's `KafkaStreamingWrite`); Spark makes a new one for each step of each batch."""

    __reduce__ = reduce_with_import

    def __init__(
        self, options: SinkOptions, schema: StructType, checkpoint: str | None, query_name: str | None = None
    ) -> None:
        self._write = AtomicWrite.prepare(options, schema, checkpoint, query_name)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage one task's rows."""
        return self._write.stage(iterator, MicroBatch.in_task())

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Publish the batch; an error fails the query, and its restart brings the same batch again."""
        staged, first = StagedBatch.of(messages), self._write.options.starting_batch
        query, number = staged.batch
        checkpoint = self._write.checkpoint or checkpoint_name(staged.session_checkpoint)
        planned = offset_log_entry(checkpoint, number)

        def decided(last: Token | None) -> TokenDecision:
            content = staged.content
            return decide(query, last, number, content, first=first, checkpoint=checkpoint, planned=planned)

        identity = TokenIdentity.of_query(query)
        self._write.publish(
            staged, identity, number, decided, checkpoint=checkpoint, planned=planned, anew=number == first
        )

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: the commit may have succeeded. The next commit removes what is staged."""


class AtomicBatchWriter(DataSourceArrowWriter):
    """Of a DataFrame (Spark's `KafkaBatchWrite`); one object for the whole job, made on the driver."""

    __reduce__ = reduce_with_import

    def __init__(self, options: SinkOptions, schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise ConfigError(Problem("", "format eosfw cannot overwrite a topic; write with mode append"))
        self._write = AtomicWrite.prepare(options, schema)
        # A write of its own each time, unless the job says which one it repeats.
        self._id = str(uuid.uuid4())
        self._folder = write_folder(self._id)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage one task's rows."""
        return self._write.stage(iterator, MicroBatch(self._folder, 0))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish the rows, unless this version was published already."""
        options, staged = self._write.options, StagedBatch.of(messages)
        application, version = options.application or self._id, options.version or 0
        identity, nameless = TokenIdentity.of_write(application), options.application is None

        def decided(last: Token | None) -> TokenDecision:
            return decide_write(application, last, version, staged.content)

        try:
            self._write.publish(staged, identity, version, decided, anew=nameless)
            if nameless:
                # Its token was for the retries of this commit: the id is a new one in each job.
                COMMITTERS.get(identity, options)[0].delete_token()
        finally:
            COMMITTERS.release(identity)
            self._write.staging.remove(self._folder)
            self._write.staging.remove_abandoned_writes(PROCESS.runtime().wall())

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove what is staged; what a commit has published stays."""
        self._write.staging.remove(self._folder)
