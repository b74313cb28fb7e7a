"""Refuse transactional writes that belong to no transaction (KIP-890), in the codes that their clients know."""

from __future__ import annotations

from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.coordinators.transaction_metadata import TV_2

_ABORTABLE_VERSION, ADDING_VERSION = 11, 12
"""Of Produce: the first version that understands TransactionAbortable, the first that adds its partition."""
_ABORTABLE_OFFSETS_VERSION, _ADDING_OFFSETS_VERSION = 4, 5
"""Of TxnOffsetCommit: the first version that understands TransactionAbortable, the first that adds its partition."""


def verify_write(
    broker: Broker, transactional_id: str, where: TopicPartition, producer: ProducerIdAndEpoch, version: int
) -> None:
    """Raise unless a batch belongs to the ongoing transaction of the id it came under (COR-19).

    From version 12 on the batch itself makes the partition part of the transaction.
    """
    if version >= ADDING_VERSION:
        _add(broker, transactional_id, producer, where)
        return
    code = broker.coordinator.verify(transactional_id, producer, (where,))[where]
    if code is Code.TRANSACTION_ABORTABLE and version < _ABORTABLE_VERSION:
        code = Code.INVALID_TXN_STATE
    if code is Code.CONCURRENT_TRANSACTIONS:
        code = Code.NOT_ENOUGH_REPLICAS  # markers are under way: retriable, in words of old clients
    if code is not Code.NONE:
        raise _refusal(code, where, transactional_id)


def verify_offsets(broker: Broker, request: Any, where: TopicPartition, version: int) -> ProducerIdAndEpoch:
    """Give the producer of a TxnOffsetCommit; raise unless its ongoing transaction has the group's partition."""
    name, producer = request.transactional_id, ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    if version >= _ADDING_OFFSETS_VERSION:
        _add(broker, name, producer, where)
        return producer
    code = broker.coordinator.verify(name, producer, (where,))[where]
    if code is Code.TRANSACTION_ABORTABLE and version < _ABORTABLE_OFFSETS_VERSION:
        code = Code.INVALID_TXN_STATE
    if code is not Code.NONE:
        raise _refusal(code, where, name)
    return producer


def fenced_error_code(version: int, fenced_version: int, code: Code) -> Code:
    """InvalidProducerEpoch in place of ProducerFenced for versions before `fenced_version`, which do not know it."""
    if code is Code.PRODUCER_FENCED and version < fenced_version:
        return Code.INVALID_PRODUCER_EPOCH
    return code


def _add(broker: Broker, transactional_id: str, producer: ProducerIdAndEpoch, where: TopicPartition) -> None:
    try:
        broker.coordinator.add_partitions(transactional_id, producer, (where,), broker.now_ms(), TV_2)
    except KafkaError as refused:
        raise _refusal(refused.code, where, transactional_id) from refused


def _refusal(code: Code, where: TopicPartition, transactional_id: str) -> KafkaError:
    # A partition speaks of epochs, only the coordinator of fencing.
    return KafkaError(
        Code.INVALID_PRODUCER_EPOCH if code is Code.PRODUCER_FENCED else code,
        f"{where} is not part of an ongoing transaction of {transactional_id!r}",
    )
