"""InitProducerId (22): give a producer its id and epoch.

Behaviour
- Without a transactional id: a fresh producer id, epoch 0 (idempotence only).
- With one: the epoch rises by one, older holders are fenced. While an older transaction has to be ended first the
  answer is ConcurrentTransactions, as in Kafka, and the client asks again (COR-02 to 05).

Version notes: from 3 a client may name the producer id and epoch it has (KIP-360); before 4 the code for a fenced one
is InvalidProducerEpoch. 6 would be two-phase commit (KIP-939), which Kafka 4.1 does not offer.
"""

from __future__ import annotations

from typing import Any

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.transaction_metadata import NO_EPOCH, NO_PRODUCER_ID
from eosfw_memory.server.protocol.authorization import allows, allows_any, require
from eosfw_memory.server.protocol.rights import CLUSTER_IDEMPOTENT_WRITE, TOPIC_WRITE, TRANSACTIONAL_ID_WRITE
from eosfw_memory.server.protocol.transaction_verification import fenced_error_code

_FENCED_VERSION = 4


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with a producer id and epoch, or with an error code."""
    try:
        _check_rights(broker, request.transactional_id, context)
        producer = _initialise(broker, request)
    except KafkaError as refused:
        code = fenced_error_code(context.version, _FENCED_VERSION, refused.code)
        return {"error_code": code, "producer_id": NO_PRODUCER_ID, "producer_epoch": NO_EPOCH}
    return {"error_code": Code.NONE, "producer_id": producer.producer_id, "producer_epoch": producer.epoch}


def _check_rights(broker: Broker, transactional_id: str | None, context: Context) -> None:
    if transactional_id is not None:
        require(broker, context, TRANSACTIONAL_ID_WRITE, transactional_id)
    elif not allows(broker, context, CLUSTER_IDEMPOTENT_WRITE) and not allows_any(broker, context, TOPIC_WRITE):
        raise KafkaError(CLUSTER_IDEMPOTENT_WRITE.denied)


def _initialise(broker: Broker, request: Any) -> ProducerIdAndEpoch:
    expected = _expected(request)
    if request.transactional_id is None:
        return ProducerIdAndEpoch(broker.coordinator.fresh_producer_id(), 0)
    timeout_ms = int(request.transaction_timeout.total_seconds() * 1000)
    return broker.coordinator.initialise(request.transactional_id, timeout_ms, expected, broker.now_ms())


def _expected(request: Any) -> ProducerIdAndEpoch | None:
    producer_id = getattr(request, "producer_id", NO_PRODUCER_ID)
    epoch = getattr(request, "producer_epoch", NO_EPOCH)
    # A producer id without an epoch, or an epoch without a producer id, is not valid.
    if (producer_id == NO_PRODUCER_ID) != (epoch == NO_EPOCH):
        raise KafkaError(Code.INVALID_REQUEST)
    return None if producer_id == NO_PRODUCER_ID else ProducerIdAndEpoch(producer_id, epoch)
