"""A sink for `foreachBatch` whose batches are atomic, and are written by all tasks at once."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from eosfw.errors import ConfigError, DamagedDataError, EosfwError, Problem, StepFailedError
from eosfw.ids import TopicPartition
from eosfw.observe import TaskStep
from eosfw.protocols import AcknowledgedWrite, Backend, SharedTransaction, SharedTransactions
from eosfw_spark.clients import open_backend, plugins
from eosfw_spark.micro_batch import MicroBatch, announce
from eosfw_spark.python_process import PROCESS
from eosfw_spark.sink.commit_retry import timeout_error, too_slow
from eosfw_spark.sink.content_hash import combine
from eosfw_spark.sink.options import SinkMode, SinkOptions, parse_sink
from eosfw_spark.sink.rows import SinkColumns, sink_columns
from eosfw_spark.sink.shared.handle_server import HandleServer
from eosfw_spark.sink.shared.query_checkpoint import UNKNOWN, planned_batch
from eosfw_spark.sink.shared.routes import routes
from eosfw_spark.sink.shared.task_write import REPORT, ROUTE, AssignRows, HashRows, TaskReport, WriteRows
from eosfw_spark.sink.tokens.token import BatchContent, Token, Verdict, decide
from eosfw_spark.sink.tokens.token_log import TokenLog
from eosfw_spark.sink.tokens.token_producer import StepAnnouncer, TokenIdentity, refuse_other_mode
from eosfw_spark.sink.topic_check import TopicCheck

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

logger = logging.getLogger(__name__)
ATTEMPTS: Final = 4
"""How often a batch runs while Spark runs tasks of it again; as often as Spark runs a task."""


class SharedTransactionSink:
    """Writes each batch of a query in one transaction, in which all its tasks write: a function for `foreachBatch`.

    The options are those of `format("eosfw")`; `topic` must be given, and the backend is `memory`.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = parse_sink({"backend": "memory", **options})
        self._compared: set[str] = set()
        """The queries of which mode `parallel` is known to have published nothing since their last token."""
        problems = [Problem("", each) for each in _unfit(self._options)]
        if problems:
            raise ConfigError(*problems)

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Publish a batch unless it was published; a failure leaves all of it or nothing."""
        query = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        if query is None:
            raise ConfigError(Problem("", "this sink is for writeStream.foreachBatch, which names the query"))
        identity = TokenIdentity.of_query(query)
        tell = partial(announce, query=query, batch=batch_id, transactional_id=identity.transactional_id)
        with open_backend(self._options.backend, self._options.properties) as backend:
            for attempt in range(1, ATTEMPTS + 1):
                outcome = _BatchWrite(backend, self._options, identity, batch_id, tell).write(batch, self._compared)
                if outcome is None:
                    return
                logger.warning("batch %d of query %s runs again (%d): %s", batch_id, query, attempt, outcome)
            raise StepFailedError(f"batch {batch_id} of query {query} failed {ATTEMPTS} times: {outcome}")


class _BatchWrite:
    """One attempt at one batch, with a transaction of its own."""

    def __init__(
        self, backend: Backend, options: SinkOptions, identity: TokenIdentity, number: int, tell: StepAnnouncer
    ) -> None:
        self._backend, self._options, self._identity, self._number = backend, options, identity, number
        self._tell = tell
        self._micro_batch = MicroBatch(identity.query, number)
        self._runtime = PROCESS.runtime()
        self._tokens = TokenLog(backend)
        self._topics = TopicCheck(backend, str(identity), self._runtime)
        self._planned = UNKNOWN

    def write(self, batch: DataFrame, compared: set[str]) -> str | None:
        """Publish or skip the batch; why it must run again, if Spark ran a task of it several times."""
        options = self._options
        columns = sink_columns(batch.schema, options.topic, headers=options.headers)
        sharing = cast("SharedTransactions", self._backend)
        own = sharing.shared_transaction(
            self._identity.transactional_id, transaction_timeout=options.transaction_timeout
        )
        with closing(self._topics), closing(own) as transaction:
            self._tell(TaskStep.FENCE_BATCH)
            transaction.begin(options.api_timeout)
            self._tell(TaskStep.READ_TOKEN)
            last = self._tokens.read(self._identity.key)
            self._planned = planned_batch(batch.sparkSession, self._identity.query, self._number)
            if not self._is_next(last, batch, columns):
                return None
            if self._identity.query not in compared:
                first = self._number if self._number == options.starting_batch else None
                refuse_other_mode(self._identity, self._tokens, last, first)
                compared.add(self._identity.query)
            return self._publish(transaction, last, batch, columns)

    def _is_next(self, last: Token | None, batch: DataFrame, columns: SinkColumns) -> bool:
        """Whether the batch is to be published; its rows are hashed only if it may have been published."""
        content = combine([], 0)
        if last is not None and self._number <= last.batch:
            content = _content(_run(batch.mapInArrow(HashRows(columns), REPORT)))
        first = self._options.starting_batch
        checkpoint, planned = self._planned
        decision = decide(
            self._identity.query, last, self._number, content, first=first, checkpoint=checkpoint, planned=planned
        )
        if decision.verdict is Verdict.REFUSE:
            refuse_other_mode(self._identity, self._tokens, last)  # it may be why
            raise DamagedDataError(decision.reason)
        if decision.reason:
            logger.warning(decision.reason)
        if decision.verdict is Verdict.SKIP:
            self._tell(TaskStep.COMMITTED_BATCH, outcome="skipped", records=content.rows)
            return False
        if last is not None and self._number != first:
            self._topics.refuse_replaced(last, self._identity.anew(self._number))
        return True

    def _publish(
        self, transaction: SharedTransaction, last: Token | None, batch: DataFrame, columns: SinkColumns
    ) -> str | None:
        options, topic = self._options, self._options.topic or ""
        self._topics.require([topic])
        with closing(self._backend.admin()) as admin:
            partitions = admin.partitions([topic])[topic]
        context = batch.sparkSession.sparkContext
        writers = min(partitions, context.defaultParallelism)
        placed = bool({"key", "partition"} & set(columns))
        # Rows that may go anywhere are not shuffled. Where few Spark partitions have any, the turns spread them: over
        # the writers from batch to batch, and over the partitions of a writer once all writers had a turn.
        ways, first = (routes(writers), 0) if placed else (None, self._number)
        self._tell(TaskStep.PUBLISH_BATCH)
        began = self._runtime.now()
        handles = transaction.share(_shares(topic, partitions, writers, first), options.api_timeout)
        spark = context.getConf()
        host = spark.get("spark.driver.host", "127.0.0.1") or "127.0.0.1"
        server = HandleServer(handles, host, self._runtime, spark.get("spark.driver.bindAddress"))
        try:
            try:
                if ways is None:
                    rows = batch.coalesce(writers)
                else:
                    assign = AssignRows(columns, topic, partitions, ways)
                    rows = batch.mapInArrow(assign, assign.schema).repartition(writers, ROUTE)
                write = WriteRows(columns, options, server.address, ways, first // writers, self._micro_batch)
                reports = _run(rows.mapInArrow(write, REPORT))
            finally:
                # From here on no attempt can begin to write.
                server.close()
            writes = [each.write for each in reports if each.write is not None]
            idle = [each for each in handles if each.writer not in server.handles.given]
            writes += [AcknowledgedWrite(each.writer, each.producer, {}) for each in idle]
            token = self._token(last, _content(reports))
            transaction.send_batch(self._tokens.record(self._identity.key, token))
            self._tell(TaskStep.COMMIT_BATCH)
            transaction.commit(writes, options.transaction_timeout)
        except Exception as why:
            self._give_up(transaction, began, why)
            if server.handles.refused is None:
                raise
            return server.handles.refused
        self._tell(TaskStep.COMMITTED_BATCH, outcome="published", records=token.content.rows)
        return None

    def _give_up(self, transaction: SharedTransaction, began: float, why: Exception) -> None:
        """Abort; raises if the transaction has timed out."""
        options = self._options
        # Readers wait for an open transaction; where this fails, the next holder or its timeout ends it.
        lost = _failure_of_abort(transaction, options.api_timeout)
        publishing = self._runtime.now() - began
        # What a task was told is in Spark's exception as a text, but an abort is told the same.
        if any(too_slow(each, publishing, options.transaction_timeout) for each in (why, lost)):
            which = f"batch {self._number} of {self._identity}"
            raise timeout_error(f"{which} took longer", options.transaction_timeout) from why

    def _token(self, last: Token | None, content: BatchContent) -> Token:
        checkpoint, planned = self._planned
        if last is None:
            token = Token(self._number, content, checkpoint=checkpoint, planned=planned)
        else:
            token = last.followed_by(self._number, content, checkpoint, planned)
        return token.to_topics(self._topics.ids)


def _shares(topic: str, partitions: int, writers: int, first: int) -> Sequence[Sequence[TopicPartition]]:
    """The partitions of each writer, by turns from this one on."""
    return [
        [TopicPartition(topic, each) for each in range((first + writer) % writers, partitions, writers)]
        for writer in range(writers)
    ]


def _failure_of_abort(transaction: SharedTransaction, timeout: float) -> EosfwError | None:
    """Abort; why that failed."""
    try:
        transaction.abort(timeout)
    except EosfwError as failure:
        return failure
    return None


def _unfit(options: SinkOptions) -> Sequence[str]:
    """What this sink cannot do of the options."""
    found = []
    if options.topic is None:
        found.append("this sink needs the option topic: it must know all partitions before a row is written")
    if options.mode is not SinkMode.ATOMIC or options.staging_location is not None or options.application is not None:
        found.append("mode, writers, stagingLocation, txnAppId and txnVersion are for format eosfw; leave them out")
    if lacking := plugins().backend(options.backend).capabilities.lacking("shared_transactions"):
        what = f"backend {options.backend} cannot share a transaction ({', '.join(lacking)}); take memory"
        found.append(f"{what}, or mode atomic of format eosfw")
    return found


def _run(job: Any) -> list[TaskReport]:
    return [pickle.loads(row.report) for row in job.collect()]  # noqa: S301 - from our own tasks


def _content(reports: Sequence[TaskReport]) -> BatchContent:
    return combine((each.hash for each in reports), sum(each.rows for each in reports))
