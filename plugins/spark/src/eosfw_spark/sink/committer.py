"""The publishing of a batch as a whole, in one transaction (Spark's `StreamingWrite.commit`)."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from eosfw.concurrency import Runtime
from eosfw.errors import (
    DamagedDataError,
    EosfwError,
    ProducerFencedError,
)
from eosfw.observe import TaskStep
from eosfw.records import ProducerBatch
from eosfw_spark.sink.commit_retry import TIMEOUTS, CommitAttempts, may_try_again, timeout_error, too_slow
from eosfw_spark.sink.tokens.token import BatchContent, Token, TokenDecision, Verdict
from eosfw_spark.sink.tokens.token_producer import StepAnnouncer, TokenCluster, TokenIdentity, TokenProducer
from eosfw_spark.sink.topic_check import TopicCheck

logger = logging.getLogger(__name__)

RETRY_PAUSE: Final = 0.5


class CommitOutcome(Enum):
    """What became of a batch."""

    PUBLISHED = "published"
    SKIPPED = "skipped"
    """It was published before."""


@dataclass(frozen=True, slots=True)
class CommitBatch:
    """One batch that waits to be published."""

    number: int
    content: BatchContent
    topics: frozenset[str]
    rows: Callable[[], Iterable[ProducerBatch]]
    """The rows, from the beginning with each call."""
    decide: Callable[[Token | None], TokenDecision]
    """What the last token says about this batch."""
    checkpoint: str = ""
    planned: str = ""
    anew: bool = False
    """Whether it is known that nothing of it was published if there is no token."""

    def token(self, last: Token | None, topics: Mapping[str, str]) -> Token:
        """The token that commits with the rows; `topics` are their topics with their ids."""
        if last is None:
            return Token(self.number, self.content, checkpoint=self.checkpoint, topics=topics, planned=self.planned)
        return last.followed_by(self.number, self.content, self.checkpoint, self.planned).to_topics(topics)


class AtomicCommitter:
    """Publishes the batches of one query, one after the other; keeps producer and token between them."""

    def __init__(self, identity: TokenIdentity, cluster: TokenCluster, runtime: Runtime) -> None:
        self._identity = identity
        self._cluster = cluster
        self._runtime = runtime
        self._producer: TokenProducer | None = None
        self._last: Token | None = None
        self._compared = False
        """Whether it is known that the other mode has published nothing since the last token."""
        self._topics = TopicCheck(cluster.backend, str(identity), runtime)
        self._published_from = math.inf

    def commit(self, batch: CommitBatch, announce: StepAnnouncer) -> CommitOutcome:
        """Publish a batch unless it was published; every failure leaves it either whole or not there."""
        attempts = CommitAttempts(self._runtime.now())
        while True:
            try:
                outcome = self._attempt(batch, announce, attempts)
            except EosfwError as error:
                attempts = self._after(error, batch, attempts)
                logger.warning("%s, batch %d is tried again: %s", self._identity, batch.number, error)
                self._runtime.sleep(RETRY_PAUSE)
            except Exception:
                self.close()
                raise
            else:
                done, met = outcome.value, attempts.fencings
                announce(TaskStep.COMMITTED_BATCH, outcome=done, records=batch.content.rows, fencings=met)
                return outcome

    def _after(self, error: EosfwError, batch: CommitBatch, attempts: CommitAttempts) -> CommitAttempts:
        """What was met including a failure; raises it if another attempt cannot help."""
        self.close()
        now = self._runtime.now()
        timed_out = too_slow(error, now - self._published_from, self._cluster.transaction_timeout)
        attempts = attempts.after(error, timed_out=timed_out)
        if timed_out and attempts.timeouts == TIMEOUTS:
            which = f"batch {batch.number} of {self._identity} ({batch.content.rows} rows)"
            raise timeout_error(f"{which} took longer each time", self._cluster.transaction_timeout) from error
        if not may_try_again(error, attempts, now):
            raise self._explained(batch, error) from error
        return attempts

    def delete_token(self) -> None:
        """Delete the token of the batch that was committed last, for one who commits no other."""
        if self._producer is not None:
            self._producer.delete_token()

    def close(self) -> None:
        """Discard the producer and what is known of the token."""
        producer, self._producer = self._producer, None
        self._topics.close()
        if producer is not None:
            producer.close()

    def _attempt(self, batch: CommitBatch, announce: StepAnnouncer, attempts: CommitAttempts) -> CommitOutcome:
        self._published_from = math.inf
        if attempts.fencings and self._published_by_another(batch):
            return CommitOutcome.SKIPPED
        if self._producer is not None and self._topics.have_changed():
            self.close()
        kept = self._producer is not None
        producer = self._producer or self._fence(batch, announce)
        decision = batch.decide(self._last)
        if kept and decision.verdict is not Verdict.PUBLISH:
            # Another process may have published since then, so what is known of the token may be old.
            self.close()
            producer = self._fence(batch, announce)
            decision = batch.decide(self._last)
        if decision.verdict is Verdict.REFUSE:
            producer.refuse_other_mode(self._last)  # it may be why
            raise DamagedDataError(decision.reason)
        if decision.verdict is Verdict.SKIP:
            if decision.reason:
                logger.warning(decision.reason)
            return CommitOutcome.SKIPPED
        return self._publish(producer, batch, announce)

    def _publish(self, producer: TokenProducer, batch: CommitBatch, announce: StepAnnouncer) -> CommitOutcome:
        if not self._compared:
            producer.refuse_other_mode(self._last, batch.number if batch.anew else None)
        self._compared = True
        self._topics.require(batch.topics)
        token = batch.token(self._last, self._topics.ids)
        self._published_from = self._runtime.now()
        producer.publish(self._checked(batch.rows()), lambda: token, announce)
        self._last = token
        return CommitOutcome.PUBLISHED

    def _checked(self, rows: Iterable[ProducerBatch]) -> Iterator[ProducerBatch]:
        for each in rows:
            self._topics.require_partition(each.topic, each.partition)
            yield each

    def _published_by_another(self, batch: CommitBatch) -> bool:
        """Look at the token before fencing again: two drivers must not fence each other for ever."""
        decision = batch.decide(self._cluster.tokens.read(self._identity.key))
        if decision.verdict is Verdict.SKIP and decision.reason:
            raise DamagedDataError(
                f"two drivers use the id of {self._identity}, and the other one published batch "
                f"{batch.number} with other content than {batch.content.hash}: {decision.reason}"
            )
        return decision.verdict is Verdict.SKIP

    def _fence(self, batch: CommitBatch, announce: StepAnnouncer) -> TokenProducer:
        self._producer = TokenProducer(self._identity, self._cluster, self._runtime, announce)
        self._last, self._compared = self._producer.last, False
        if self._last is not None and batch.anew:
            # Whoever says at which batch to go on takes the topics as they are now.
            self._last = replace(self._last, topics={})
        elif self._last is not None:
            self._topics.refuse_replaced(self._last, self._identity.anew(batch.number))
        return self._producer

    def _explained(self, batch: CommitBatch, error: EosfwError) -> EosfwError:
        if not isinstance(error, ProducerFencedError):
            return error
        return ProducerFencedError(
            f"batch {batch.number} of {self._identity}: another driver holds the transactional id "
            f"{self._identity.transactional_id}; run one driver for each checkpoint ({error})"
        )
