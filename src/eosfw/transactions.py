"""Administer the transactions of a cluster: list, describe, fence, abort (KIP-664, KIP-618)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Final, Protocol

from eosfw.errors import EosfwError, UnknownTopicOrPartitionError
from eosfw.fence_producers_result import USUAL_OPTIONS, FenceProducersOptions, FenceProducersResult
from eosfw.ids import ProducerIdAndEpoch, TopicPartition

__all__ = [
    "EVERY_TRANSACTION",
    "ProducerState",
    "TransactionAdmin",
    "TransactionDescription",
    "TransactionFilters",
    "TransactionListing",
    "TransactionState",
    "open_offsets",
]


class TransactionState(Enum):
    """The state of a transactional id (Kafka's `clients.admin.TransactionState`)."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    UNKNOWN = "Unknown"
    """A state that this version does not know."""

    @classmethod
    def _missing_(cls, value: object) -> TransactionState:
        return cls.UNKNOWN

    @property
    def is_open(self) -> bool:
        """Whether a transaction is open; it may be decided already."""
        return self in _OPEN


_OPEN = frozenset({TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})


@dataclass(frozen=True, slots=True)
class TransactionFilters:
    """Which transactional ids to list; an empty filter, or None, lets all pass."""

    states: Collection[TransactionState] = ()
    producer_ids: Collection[int] = ()
    older_than: float | None = None
    """Seconds that a transaction has been open; needs a broker of Kafka 3.8 or later, else UnsupportedError."""


EVERY_TRANSACTION: Final = TransactionFilters()


@dataclass(frozen=True, slots=True)
class TransactionListing:
    """One transactional id that a coordinator knows (Kafka's `TransactionListing`)."""

    transactional_id: str
    producer_id: int
    state: TransactionState


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """What the coordinator knows of a transactional id (Kafka's `TransactionDescription`)."""

    transactional_id: str
    coordinator: int
    """The number of the broker that coordinates it."""
    state: TransactionState
    producer: ProducerIdAndEpoch
    timeout: float
    """Seconds after which the coordinator aborts an open transaction."""
    started: int | None
    """When the open transaction began, in milliseconds since 1970; None if none is open."""
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class ProducerState:
    """What a partition knows of one producer (Kafka's `clients.admin.ProducerState`)."""

    producer: ProducerIdAndEpoch
    last_sequence: int
    last_timestamp: int
    """Milliseconds since 1970."""
    coordinator_epoch: int | None
    """The epoch of the coordinator that wrote the last marker; None if there was no marker."""
    open_since: int | None
    """The first offset of its open transaction in this partition; None if none is open."""


class TransactionAdmin(Protocol):
    """The calls of an admin client about transactions.

    Each call but fencing needs a capability; without it, it raises UnsupportedError, which names the capability.
    """

    def fence_producers(
        self, transactional_ids: Collection[str], options: FenceProducersOptions = USUAL_OPTIONS
    ) -> FenceProducersResult:
        """Fence every earlier holder of these ids (KIP-618's `Admin.fenceProducers`); returns at once.

        Fenced means: no earlier holder can commit any more, and what it left open is aborted or being aborted. Fencing
        an id that nobody holds, or fencing twice, succeeds. "Concurrent", "loading", "not coordinator", a lost answer
        are tried again until the deadline, even where the fencing has already taken effect (KAFKA-16570). An id fails
        alone: TransactionalIdAuthorizationError, ClusterAuthorizationError, InvalidTransactionTimeoutError,
        ConcurrentTransactionsError or ClusterUnavailableError (not done in time). No id, or an empty one, is a
        ValueError. Closing the admin client fails what is left.
        """

    def list_transactions(self, filters: TransactionFilters = EVERY_TRANSACTION) -> Sequence[TransactionListing]:
        """The transactional ids that pass every filter, from all coordinators; needs `describe_transactions`."""

    def describe_transactions(
        self, transactional_ids: Collection[str]
    ) -> Mapping[str, TransactionDescription | EosfwError]:
        """The description of each id, or its error: TransactionalIdNotFoundError, TransactionalIdAuthorizationError.

        Needs `describe_transactions`.
        """

    def describe_producers(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[ProducerState]]:
        """The producers of each partition, with their open transactions; needs `describe_transactions`."""

    def abort_transaction(self, partition: TopicPartition, start_offset: int) -> ProducerState:
        """Abort, in this partition alone, the transaction that is open since an offset; return its producer's state.

        It asks no coordinator. This is right for a transaction that no coordinator knows (see
        `eosfw.hanging_transactions`); any other is split by it. TransactionNotFoundError if none is open since that
        offset. Needs `abort_transactions`.
        """

    def max_transaction_timeout(self) -> float | None:
        """The broker's `transaction.max.timeout.ms` in seconds; None if it will not say."""


def open_offsets(
    admin: TransactionAdmin, transactions: Collection[TransactionDescription]
) -> Mapping[tuple[TopicPartition, int], int]:
    """By partition and producer id, the offset since which a transaction is open there; asks the leaders.

    Nothing is said of partitions that are deleted, which a transaction keeps until it ends.
    """
    partitions = sorted({where for one in transactions for where in one.partitions})
    try:
        states = admin.describe_producers(partitions) if partitions else {}
    except UnknownTopicOrPartitionError:
        states = _of_existing(admin, partitions)
    return {
        (where, each.producer.producer_id): each.open_since
        for where, producers in states.items()
        for each in producers
        if each.open_since is not None
    }


def _of_existing(
    admin: TransactionAdmin, partitions: Sequence[TopicPartition]
) -> Mapping[TopicPartition, Sequence[ProducerState]]:
    states: dict[TopicPartition, Sequence[ProducerState]] = {}
    for _, of_topic in groupby(partitions, lambda one: one.topic):
        with suppress(UnknownTopicOrPartitionError):
            states |= admin.describe_producers(list(of_topic))
    return states
