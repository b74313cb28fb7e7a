"""What the coordinator knows about one transactional id. Kafka's `TransactionMetadata`."""

from __future__ import annotations

from typing import NamedTuple, TypedDict, Unpack

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.server.coordinators.transaction_state import TransactionState, advance

NO_PRODUCER_ID = -1
NO_EPOCH = -1
NOT_STARTED = -1
LAST_CLIENT_EPOCH = 32766
"""The highest epoch a client gets; 32767 is kept for fencing its holder (COR-04)."""
LAST_EPOCH = 32767
TV_0 = 0
"""Kafka's version 0 of a client's transactions: the epoch stays from one transaction to the next."""
TV_2 = 2
"""Kafka's version 2: every end of a transaction raises the epoch (KIP-890)."""


class MetadataChanges(TypedDict, total=False):
    """What may change together with the state."""

    epoch: int
    timeout_ms: int
    partitions: frozenset[TopicPartition]
    updated_ms: int
    started_ms: int
    last_epoch: int
    client_version: int


class TransactionMetadata(NamedTuple):
    """One transactional id: who holds it, what state its transaction is in, which partitions it touches.

    `last_epoch` and `previous_producer_id` let a client repeat a request whose answer was lost (KIP-360, KIP-890); the
    former lives in memory only, as in Kafka. `next_producer_id` is set while markers are written of a transaction that
    used up the last epoch: its holder goes on under that id.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    updated_ms: int = 0
    started_ms: int = NOT_STARTED
    last_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    client_version: int = TV_0

    @property
    def producer(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self.producer_id, self.epoch)

    @property
    def exhausted(self) -> bool:
        """Whether the producer id has no epoch left for another client."""
        return self.epoch >= LAST_CLIENT_EPOCH

    def expired(self, now_ms: int) -> bool:
        """Whether its transaction has been open for longer than its timeout."""
        return self.state is TransactionState.ONGOING and self.started_ms + self.timeout_ms < now_ms

    def transition_to(self, target: TransactionState, **changes: Unpack[MetadataChanges]) -> TransactionMetadata:
        """The metadata in another state, with what else changes; raises when Kafka's state machine forbids it."""
        return self._replace(state=advance(self.state, target), **changes)

    def with_producer_id(self, producer_id: int) -> TransactionMetadata:
        """The metadata under another producer id, with the old one as the previous one."""
        return self._replace(
            producer_id=producer_id, previous_producer_id=self.producer_id, next_producer_id=NO_PRODUCER_ID
        )
