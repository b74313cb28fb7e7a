"""Refuse transactional writes that belong to no transaction (KIP-890)."""

from __future__ import annotations

from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.coordinators.transaction_coordinator import TransactionCoordinator
from eosfw_memory.server.coordinators.transaction_metadata import TV_2
from eosfw_memory.storage.records.batch import BatchHeader

_ABORTABLE_VERSION = 11
"""From this version of Produce on a client understands TransactionAbortable."""
_ABORTABLE_OFFSETS_VERSION, _ADDING_OFFSETS_VERSION = 4, 5
"""Of TxnOffsetCommit: the first version that understands TransactionAbortable, the first that adds its partition."""


def verify_write(
    coordinator: TransactionCoordinator,
    transactional_id: str,
    where: TopicPartition,
    batch: BatchHeader,
    version: int,
) -> None:
    """Raise unless the batch belongs to the ongoing transaction of the id it came under (COR-19)."""
    producer = ProducerIdAndEpoch(batch.producer_id, batch.producer_epoch)
    code = coordinator.verify(transactional_id, producer, (where,))[where]
    if code is Code.TRANSACTION_ABORTABLE and version < _ABORTABLE_VERSION:
        code = Code.INVALID_TXN_STATE
    if code is Code.CONCURRENT_TRANSACTIONS:
        code = Code.NOT_ENOUGH_REPLICAS  # markers are under way: retriable, in words of old clients
    if code is not Code.NONE:
        raise _refusal(code, where, transactional_id)


def add_write(
    coordinator: TransactionCoordinator,
    transactional_id: str,
    where: TopicPartition,
    batch: BatchHeader,
    now_ms: int,
) -> None:
    """Make the partition part of the transaction the batch belongs to, so that no request has to come before."""
    _added(coordinator, transactional_id, ProducerIdAndEpoch(batch.producer_id, batch.producer_epoch), where, now_ms)


def _added(
    coordinator: TransactionCoordinator,
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    where: TopicPartition,
    now_ms: int,
) -> None:
    try:
        coordinator.add_partitions(transactional_id, producer, (where,), now_ms, TV_2)
    except KafkaError as refused:
        raise _refusal(refused.code, where, transactional_id) from refused


def verify_offsets(
    coordinator: TransactionCoordinator, request: Any, where: TopicPartition, version: int, now_ms: int
) -> ProducerIdAndEpoch:
    """Give the producer of a TxnOffsetCommit; raise unless its ongoing transaction has the group's partition."""
    name, producer = request.transactional_id, ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    if version >= _ADDING_OFFSETS_VERSION:
        _added(coordinator, name, producer, where, now_ms)
        return producer
    code = coordinator.verify(name, producer, (where,))[where]
    if code is Code.TRANSACTION_ABORTABLE and version < _ABORTABLE_OFFSETS_VERSION:
        code = Code.INVALID_TXN_STATE
    if code is not Code.NONE:
        raise _refusal(code, where, name)
    return producer


def _refusal(code: Code, where: TopicPartition, transactional_id: str) -> KafkaError:
    # A partition speaks of epochs, only the coordinator of fencing.
    return KafkaError(
        Code.INVALID_PRODUCER_EPOCH if code is Code.PRODUCER_FENCED else code,
        f"{where} is not part of an ongoing transaction of {transactional_id!r}",
    )
