"""Refuse transactional writes that belong to no transaction (KIP-890)."""

from __future__ import annotations

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.coordinators.transactions import TransactionCoordinator
from eosfw_memory.log.batch import BatchHeader

_ABORTABLE_VERSION = 11
"""From this version of Produce on a client understands TransactionAbortable."""

_ANSWERS = {
    # A partition speaks of epochs, only the coordinator of fencing.
    Code.PRODUCER_FENCED: Code.INVALID_PRODUCER_EPOCH,
    # Markers are under way: retriable, and not worth a code of its own to old clients.
    Code.CONCURRENT_TRANSACTIONS: Code.NOT_ENOUGH_REPLICAS,
}


def verify_write(
    coordinator: TransactionCoordinator,
    transactional_id: str | None,
    where: TopicPartition,
    batch: BatchHeader,
    version: int,
) -> None:
    """Raise unless the batch belongs to the ongoing transaction of the id it came under (COR-19)."""
    if transactional_id is None:
        raise KafkaError(Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transactional batch without transactional id")
    producer = ProducerIdAndEpoch(batch.producer_id, batch.producer_epoch)
    code = coordinator.verify(transactional_id, producer, where)
    if code is Code.TRANSACTION_ABORTABLE and version < _ABORTABLE_VERSION:
        code = Code.INVALID_TXN_STATE
    if code is not Code.NONE:
        raise KafkaError(
            _ANSWERS.get(code, code), f"{where} is not part of an ongoing transaction of {transactional_id!r}"
        )
