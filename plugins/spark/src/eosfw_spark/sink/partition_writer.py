"""The publishing of one partition of a batch in a transaction of its own (Spark's `KafkaDataWriter`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

import pyarrow as pa

from eosfw.concurrency import Runtime
from eosfw.errors import (
    ConfigError,
    DamagedDataError,
    EosfwError,
    InvalidProducerEpochError,
    Problem,
    ProducerFencedError,
    StepFailedError,
)
from eosfw.observe import TaskStep
from eosfw.protocols import IsolationLevel
from eosfw.records import ProducerBatch
from eosfw.retry_timer import RetryTimer
from eosfw_spark.sink.commit_retry import LOST_ID, timeout_error, too_slow
from eosfw_spark.sink.committer import CommitOutcome
from eosfw_spark.sink.content_hash import combine, hash_rows
from eosfw_spark.sink.rows import producer_batches
from eosfw_spark.sink.tokens.partition_token import WriterBatch, decide_partition, not_compared, too_many_partitions
from eosfw_spark.sink.tokens.token import BatchContent, Token, Verdict
from eosfw_spark.sink.tokens.token_producer import StepAnnouncer, TokenCluster, TokenIdentity, TokenProducer
from eosfw_spark.sink.topic_check import TopicCheck

_NOTHING: Final = combine([], 0)


class _Rows:
    """The rows of a partition, which Spark gives once; their hash is known behind the last of them.

    With `keep` they can be gone through again, since what has passed stays in memory.
    """

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self._passed: list[pa.RecordBatch] = []
        self._hash = self._count = 0
        self.keep = False

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        self._hash = self._count = 0
        again, self._passed = self._passed, []
        for batch in chain(again, self._batches):
            if self.keep:
                self._passed.append(batch)
            self._hash += hash_rows(batch)
            self._count += batch.num_rows
            yield batch

    def content(self) -> BatchContent:
        """The content of what has passed."""
        return combine([self._hash], self._count)


class PartitionWriter:
    """Publishes one partition, batch after batch; keeps producer and token between them. One thread uses it."""

    def __init__(self, identity: TokenIdentity, cluster: TokenCluster, topic: str | None, runtime: Runtime) -> None:
        self._identity = identity
        self._cluster = cluster
        self._topic = topic
        self._runtime = runtime
        self._topics = TopicCheck(cluster.backend, str(identity), runtime)
        self._producer: TokenProducer | None = None
        self._last: Token | None = None
        self._mark: Token | None = None
        self._compared = False
        """Whether it is known that the other mode has published nothing since the last token."""

    def write(self, part: WriterBatch, batches: Iterable[pa.RecordBatch], announce: StepAnnouncer) -> CommitOutcome:
        """Publish the rows unless they were published; a failure leaves all of them or none."""
        if part.partition >= part.writers:
            raise ConfigError(Problem("", too_many_partitions(part.query, part.batch, part.partition, part.writers)))
        rows, began = _Rows(batches), self._runtime.now()
        try:
            outcome = self._write_again_if_fenced(part, rows, announce)
        except BaseException as error:
            self.close()
            if isinstance(error, EosfwError):
                raise self._explained(error, part, self._runtime.now() - began) from error
            raise
        announce(TaskStep.COMMITTED_BATCH, outcome=outcome.value, records=rows.content().rows)
        return outcome

    def close(self) -> None:
        """Discard the producer and what is known of the token."""
        producer, self._producer, self._last = self._producer, None, None
        self._topics.close()
        if producer is not None:
            producer.close()

    def _write_again_if_fenced(self, part: WriterBatch, rows: _Rows, announce: StepAnnouncer) -> CommitOutcome:
        """A process that served another attempt of this batch has fenced the kept producer: fence and look anew, once.

        Without a kept producer the fencing means that another attempt runs now, and this one has lost.
        """
        rows.keep = self._producer is not None and part.follows(self._last)
        try:
            return self._write(part, rows, announce)
        except LOST_ID:
            if not rows.keep:
                raise
            rows.keep = False
            self.close()
            return self._write(part, rows, announce)

    def _write(self, part: WriterBatch, rows: _Rows, announce: StepAnnouncer) -> CommitOutcome:
        producer = self._holder(part, announce)
        if self._is_published(producer, part, rows):
            self._confirm(producer, part, announce)
            return CommitOutcome.SKIPPED
        self._topics.require(() if self._topic is None else (self._topic,))
        last, tokens = self._last, list[Token]()
        records = self._records(rows, announce)
        if not self._compared:
            self._refuse_other_mode(producer, part)
            self._compared = True
        if last is None or part.is_behind(last):
            records = chain(records, [self._cluster.tokens.record(self._identity.mark, part.token(None, _NOTHING))])

        def token() -> Token:
            tokens.append(part.token(last, rows.content()).to_topics(self._topics.ids))
            return tokens[-1]

        producer.publish(records, token, announce)
        self._last = tokens[-1]
        return CommitOutcome.PUBLISHED

    def _holder(self, part: WriterBatch, announce: StepAnnouncer) -> TokenProducer:
        """The producer that wrote the batch before this one, else a new one.

        Whoever else publishes this partition fences it first. So a producer that is not fenced knows the last token; if
        another process has published since, that token is too old for this batch, or the producer fails.
        """
        if self._producer is not None and part.follows(self._last) and not self._topics.have_changed():
            return self._producer
        self.close()
        self._producer = TokenProducer(self._identity, self._cluster, self._runtime, announce)
        self._last, self._compared = self._producer.last, False
        if self._last is not None and part.batch == part.first:
            # Whoever says at which batch to go on takes the topics as they are now.
            self._last = replace(self._last, topics={})
        elif self._last is not None:
            self._topics.refuse_replaced(self._last, self._identity.anew(part.batch))
        # Asked here alone: a process with another number of writers begins with a new producer.
        self._mark = self._visible(self._identity.mark)
        return self._producer

    def _refuse_other_mode(self, producer: TokenProducer, part: WriterBatch) -> None:
        # A writer that joins has no token yet; the first writer has one of each batch.
        joins = part.joins(self._last)
        last = self._cluster.tokens.read(part.identity(0).key) if joins else self._last
        producer.refuse_other_mode(last, part.first if part.batch == part.first else None)

    def _confirm(self, producer: TokenProducer, part: WriterBatch, announce: StepAnnouncer) -> None:
        """Tell the other writers that this partition has the rows again that it published with fewer writers."""
        last = self._last
        if last is not None and last.batch == part.batch and part.is_behind(last):
            confirmed = self._last = replace(last, writers=part.writers)
            producer.publish((), lambda: confirmed, announce)

    def _await_confirmations(self, part: WriterBatch) -> None:
        """Wait until the partitions of this batch that fewer writers published have compared their rows.

        With more writers the rows may be divided otherwise. If all that was published comes again where it was, the
        rest is what was not published, however it is divided; if not, its writer refuses the batch, and ends it.
        """
        timer = RetryTimer(self._runtime, self._runtime.now() + self._cluster.api_timeout, pause=0.05, longest=0.5)
        while pending := next(self._unconfirmed(part), None):
            if not timer.backoff():
                raise StepFailedError(not_compared(part, *pending))

    def _unconfirmed(self, part: WriterBatch) -> Iterator[tuple[int, int]]:
        """The partitions of this batch that fewer writers published, and how many these were."""
        for each in range(part.writers):
            token = self._visible(part.identity(each).key)
            if token is not None and token.batch == part.batch and part.is_behind(token):
                yield each, token.writers

    def _visible(self, key: str) -> Token | None:
        """Another writer's token as it is now: its open transaction must not hold this one up."""
        return self._cluster.tokens.read(key, IsolationLevel.READ_COMMITTED)

    def _is_published(self, producer: TokenProducer, part: WriterBatch, rows: _Rows) -> bool:
        last = self._last
        # Most wait for no other writer: its open transaction would hold this one up.
        other = self._cluster.tokens.read(part.identity(0).key) if part.joins(last) else None
        # Only a replay is compared, and its rows are not sent; otherwise the rows pass while they are sent.
        replayed = last is not None and part.batch <= last.batch
        if replayed:
            for _ in rows:
                pass
        decision = decide_partition(part, last, other, rows.content() if replayed else _NOTHING, self._mark)
        if decision.verdict is Verdict.REFUSE:
            self._refuse_other_mode(producer, part)  # it may be why
            raise DamagedDataError(decision.reason)
        if decision.verdict is Verdict.PUBLISH and any(map(part.is_behind, (last, other, self._mark))):
            self._await_confirmations(part)
        return decision.verdict is Verdict.SKIP

    def _records(self, rows: _Rows, announce: StepAnnouncer) -> Iterator[ProducerBatch]:
        announce(TaskStep.WRITE_BATCH)
        for batch in rows:
            for records in producer_batches(batch, self._topic, round(self._runtime.wall() * 1000)):
                self._topics.require_partition(records.topic, records.partition)
                yield records
        announce(TaskStep.STAGED_BATCH)

    def _explained(self, error: EosfwError, part: WriterBatch, publishing: float) -> EosfwError:
        where = f"partition {part.partition} of batch {part.batch} of query {part.query}"
        if too_slow(error, publishing, self._cluster.transaction_timeout):
            return timeout_error(f"{where} took longer", self._cluster.transaction_timeout)
        if isinstance(error, (ProducerFencedError, InvalidProducerEpochError)):
            return ProducerFencedError(
                f"{where}: a newer attempt, or another driver of the query, holds the transactional id "
                f"{self._identity.transactional_id}; this attempt has published nothing ({error})"
            )
        return error
