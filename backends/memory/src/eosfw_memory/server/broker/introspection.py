"""Read from a broker what no request of Kafka's protocol tells in one answer."""

from __future__ import annotations

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel, OpenTransaction
from eosfw_memory.server.broker.state import BrokerState
from eosfw_memory.server.coordinators.transaction_metadata import NO_PRODUCER_ID, TransactionMetadata
from eosfw_memory.storage.records.batch import split


def open_transactions(broker: BrokerState) -> list[OpenTransaction]:
    """Every transaction that holds back a last stable offset, once for each partition it has written to."""
    with broker.lock:
        now_ms = broker.now_ms()
        found = (
            _open_in(broker, known, where, now_ms)
            for known in broker.coordinator.transactions()
            for where in sorted(known.partitions)
        )
        return [each for each in found if each is not None]


def producer_of(broker: BrokerState, where: TopicPartition, offset: int) -> ProducerIdAndEpoch | None:
    """The producer whose batch holds an offset, if it has an id."""
    partition = broker.topics.partition(*where)
    if partition is None:
        return None
    with broker.lock:
        records = partition.log.fetch(offset, 1, IsolationLevel.READ_UNCOMMITTED).records
        headers = [header for header, _ in split(records)]
    found = next((one for one in headers if one.base_offset <= offset <= one.last_offset), None)
    if found is None or found.producer_id == NO_PRODUCER_ID:
        return None
    return ProducerIdAndEpoch(found.producer_id, found.producer_epoch)


def _open_in(
    broker: BrokerState, known: TransactionMetadata, where: TopicPartition, now_ms: int
) -> OpenTransaction | None:
    partition = broker.topics.partition(*where)
    first = None if partition is None else partition.log.first_offset_of(known.producer_id)
    if first is None:
        return None
    age = (now_ms - known.started_ms) / 1000
    return OpenTransaction(known.transactional_id, known.producer, where, first, age)
