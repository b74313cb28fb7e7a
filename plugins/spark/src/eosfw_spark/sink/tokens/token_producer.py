"""The transactional producer that publishes rows together with the token of their batch (KIP-98)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from eosfw.concurrency import Runtime
from eosfw.errors import (
    DamagedDataError,
    EosfwError,
    FatalError,
    InvalidProducerEpochError,
    RecordTooLargeError,
)
from eosfw.observe import TaskStep
from eosfw.protocols import Backend, TransactionalProducer
from eosfw.records import ProducerBatch
from eosfw_spark.option_parser import KAFKA
from eosfw_spark.sink.tokens.token import Token
from eosfw_spark.sink.tokens.token_log import TokenLog

logger = logging.getLogger(__name__)
_LARGEST: Final = "max.request.size"


class StepAnnouncer(Protocol):
    """Tells of a step just before it is done; it may block, or raise in a test."""

    def __call__(self, step: TaskStep, /, **detail: object) -> None:
        """Announce a step."""


@dataclass(frozen=True, slots=True)
class TokenIdentity:
    """Who publishes: a query, one partition of a query, or a batch write."""

    query: str
    key: str
    """Of the token."""
    kind: str = "query"
    other_mode: str = ""
    """The key that has a token if the other mode published for this query."""
    mark: str = ""
    """The key of that token, where whoever publishes one partition leaves it for those who publish whole batches."""

    @property
    def transactional_id(self) -> str:
        """Whoever initialises it is the one that may write the token."""
        return f"eos-spark-{self.key}"

    def __str__(self) -> str:
        return f"{self.kind} {self.query}"

    def anew(self, batch: int) -> str:
        """What to do where the rows of earlier batches are gone."""
        if self.kind == "batch write":
            return "to write all rows again, give the write another txnAppId"
        return f"to write all rows again, start with a new checkpoint; to go on, set startingBatchId to {batch}"

    @classmethod
    def of_query(cls, query: str) -> TokenIdentity:
        """The identity of a query whose batches are published as a whole."""
        return cls(query, query, other_mode=f"{query}-parts")

    @classmethod
    def of_partition(cls, query: str, partition: int) -> TokenIdentity:
        """The identity of a query's partition that is published by itself."""
        key = f"{query}-{partition}"
        return cls(query, key, other_mode=query, mark=f"{query}-parts")

    @classmethod
    def of_write_partition(cls, application: str, partition: int) -> TokenIdentity:
        """The identity of a partition of batch writes; the number comes first, so no name can spell another's key."""
        key, whole = f"{partition}-write-{application}", f"write-{application}"
        return cls(application, key, "batch write", other_mode=whole, mark=f"parts-{whole}")

    @classmethod
    def of_write(cls, application: str) -> TokenIdentity:
        """The identity of batch writes; its key is never that of a query, whatever name a user chooses."""
        key = f"write-{application}"
        return cls(application, key, "batch write", other_mode=f"parts-{key}")


@dataclass(frozen=True, slots=True)
class TokenCluster:
    """The cluster that rows and tokens are written to, and how long a call may take, in seconds."""

    backend: Backend
    tokens: TokenLog
    transaction_timeout: float
    api_timeout: float


class TokenProducer:
    """One holder of a transactional id, for one thread; after any error it must be closed."""

    def __init__(
        self, identity: TokenIdentity, cluster: TokenCluster, runtime: Runtime, announce: StepAnnouncer
    ) -> None:
        """Fence earlier holders of the id, then read the token, in this order: afterwards no holder can change it."""
        self.identity = identity
        self._cluster = cluster
        self._runtime = runtime
        announce(TaskStep.FENCE_BATCH)
        self._producer: TransactionalProducer = cluster.backend.producer(
            identity.transactional_id, transaction_timeout=cluster.transaction_timeout
        )
        try:
            self._producer.init_transactions(cluster.api_timeout)
            announce(TaskStep.READ_TOKEN)
            self.last = cluster.tokens.read(identity.key)
        except Exception:
            self._producer.close()
            raise

    def refuse_other_mode(self, last: Token | None, first: int | None = None) -> None:
        """Raise DamagedDataError if the other mode has published for this query since its last token."""
        refuse_other_mode(self.identity, self._cluster.tokens, last, first)

    def publish(self, rows: Iterable[ProducerBatch], token: Callable[[], Token], announce: StepAnnouncer) -> None:
        """Publish rows, then their token in one transaction; it is committed when this returns."""
        # Processes that plan or stage start a fifth of a second faster without it.
        from eosfw.runtime import TransactionalCommit

        producer = self._producer
        announce(TaskStep.PUBLISH_BATCH)
        producer.begin_transaction()
        try:
            for batch in rows:
                producer.send_batch(batch)
            producer.flush(self._cluster.transaction_timeout)
            # The token comes last: while it is undecided, other queries wait to read theirs.
            producer.send_batch(self._cluster.tokens.record(self.identity.key, token()))
            announce(TaskStep.COMMIT_BATCH)
            TransactionalCommit(producer, self._cluster.transaction_timeout, self._runtime).commit()
        except Exception as error:
            self._abort(producer, error)
            if isinstance(error, RecordTooLargeError):
                # Backends speak of Kafka's property.
                raise RecordTooLargeError(str(error).replace(_LARGEST, KAFKA + _LARGEST)) from error
            raise

    def delete_token(self) -> None:
        """Delete the token of one who will never ask for it again; that it stays is no failure."""
        from eosfw.runtime import TransactionalCommit

        producer = self._producer
        try:
            producer.begin_transaction()
            producer.send_batch(self._cluster.tokens.tombstone(self.identity.key))
            TransactionalCommit(producer, self._cluster.transaction_timeout, self._runtime).commit()
        except EosfwError as why:
            logger.info("the token of %s stays: %s", self.identity, why)

    def close(self) -> None:
        """Close; what is open is aborted by the next holder."""
        self._producer.close()

    def _abort(self, producer: TransactionalProducer, error: Exception) -> None:
        # Readers wait for an open transaction. After a fatal error the next holder, or its timeout, ends it.
        if not isinstance(error, (FatalError, InvalidProducerEpochError)):
            with suppress(EosfwError):
                producer.abort_transaction(self._cluster.api_timeout)


def refuse_other_mode(identity: TokenIdentity, tokens: TokenLog, last: Token | None, first: int | None = None) -> None:
    """Raise DamagedDataError if the other mode has published for this query since its last token.

    What that mode published before is of a time when the user had the query go over from it. Without a token, `first`
    is the batch of which the user says that nothing was published.
    """
    other = tokens.read(identity.other_mode) if identity.other_mode else None
    if other is None:
        return
    if last is None and first is not None:
        if (newest := _newest(identity, tokens, other)) >= first:
            raise DamagedDataError(
                f"{identity} was written in the other mode up to batch {newest}, so batch {first} was published, "
                f"though startingBatchId says that it was not: set the option mode as it was until the query is beyond "
                f"that batch, then change it, with startingBatchId set to the batch that comes next"
            )
        return
    if last is None or other.batch > last.batch:
        newest, is_query = _newest(identity, tokens, other), identity.kind == "query"
        remedy = "set the option mode as it was"
        if is_query and last is None:
            remedy += f" until the query is beyond batch {newest}, then change it, with startingBatchId set to the next"
        raise DamagedDataError(
            f"{identity} was written in the other mode up to {'batch' if is_query else 'version'} {newest}, so nobody "
            f"knows what of this batch was published: {remedy}; a query with a new checkpoint, or a DataFrame with a "
            f"new txnAppId, may have another one"
        )


def _newest(identity: TokenIdentity, tokens: TokenLog, other: Token) -> int:
    """The last batch of which the other mode published something."""
    if not identity.mark and identity.kind == "query":  # the other mode has a token for each partition
        parts = (tokens.read(TokenIdentity.of_partition(identity.query, each).key) for each in range(other.writers))
        return max((each.batch for each in parts if each is not None), default=other.batch)
    return other.batch
