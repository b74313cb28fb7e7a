"""Mode `atomic`: tasks stage rows, the driver publishes all of them in one transaction (Spark's `StreamingWrite`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.types import StructType

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import StepFailedError
from eosfw_spark.micro_batch import MicroBatch, announce
from eosfw_spark.sink.committer import AtomicCommitter, CommitBatch, CommitOutcome
from eosfw_spark.sink.kept_clients import KeptClients
from eosfw_spark.sink.options import SinkOptions
from eosfw_spark.sink.rows import SinkColumns, sent_batch, sink_columns
from eosfw_spark.sink.staged_batch import StagedBatch, StagedTask, remove_staged, stage_task
from eosfw_spark.sink.staging import Staging, checkpoint_name
from eosfw_spark.sink.token_producer import TokenIdentity
from eosfw_spark.sink.tokens import BatchContent, Token, TokenDecision

COMMITTERS: Final = KeptClients(lambda identity, cluster, _: AtomicCommitter(identity, cluster, ThreadRuntime()))
"""Of the queries whose batches this process commits."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """Whose batch it is, its number there, and what the last token says about it."""

    identity: TokenIdentity
    number: int
    decide: Callable[[Token | None, BatchContent], TokenDecision]
    anew: bool
    """Whether it is known that nothing of it was published if there is no token."""


@dataclass(frozen=True, slots=True)
class AtomicWrite:
    """What both writers do; made on the driver, sent to the tasks."""

    options: SinkOptions
    columns: SinkColumns
    staging: Staging
    checkpoint: str = ""

    @classmethod
    def prepare(cls, options: SinkOptions, schema: StructType, checkpoint: str | None = None) -> AtomicWrite:
        """Check columns and staging location on the driver, before any task runs."""
        columns = sink_columns(schema, options.topic, headers=options.headers)
        return cls(options, columns, Staging.prepare(options.staging_location, checkpoint), checkpoint_name(checkpoint))

    def stage(self, rows: Iterable[pa.RecordBatch], batch: MicroBatch) -> StagedTask:
        """Stage the rows of this task."""
        context = TaskContext.get()
        if context is None:
            raise StepFailedError("rows are staged in a task of Spark only")
        sent = (sent_batch(each, self.columns) for each in rows)
        return stage_task(sent, batch, context.partitionId(), self.staging)

    def publish(self, messages: Sequence[Any], numbered: Callable[[MicroBatch], Numbered]) -> CommitOutcome:
        """Publish what the tasks staged, in one transaction with the token, unless it was published already."""
        staged = StagedBatch.of(messages)
        own = numbered(staged.batch)
        committer, is_new = COMMITTERS.get(own.identity, self.options)
        outcome = committer.commit(
            self._commit_batch(staged, own),
            partial(
                announce,
                query=own.identity.query,
                batch=own.number,
                transactional_id=own.identity.transactional_id,
            ),
        )
        if is_new or staged.in_files:
            remove_staged(self.staging, staged.batch)
        return outcome

    def _commit_batch(self, staged: StagedBatch, own: Numbered) -> CommitBatch:
        topic, content, now = self.options.topic, staged.content, round(ThreadRuntime().wall() * 1000)
        return CommitBatch(
            own.number,
            content,
            staged.topics(topic),
            lambda: staged.rows(self.staging, topic, now),
            lambda last: own.decide(last, content),
            self.checkpoint,
            own.anew,
        )
