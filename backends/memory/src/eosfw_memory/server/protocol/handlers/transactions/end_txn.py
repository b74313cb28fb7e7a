"""EndTxn (26): commit or abort a transaction.

Behaviour
- The answer comes when the decision is in the transaction log; the markers are written after it (COR-08, 09).

Version notes: before 2 the code for a fenced producer is InvalidProducerEpoch; from 5 on each end raises the epoch, and
the answer has the producer id and epoch for the next transaction (version 2 of transactions, KIP-890).
"""

from __future__ import annotations

from typing import Any

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.transaction_metadata import NO_EPOCH, NO_PRODUCER_ID
from eosfw_memory.server.protocol.authorization import require
from eosfw_memory.server.protocol.rights import TRANSACTIONAL_ID_WRITE
from eosfw_memory.server.protocol.transaction_verification import fenced_error_code
from eosfw_memory.storage.records.transaction_result import TransactionResult

_BUMPING_VERSION = 5
_FENCED_VERSION = 2
_DONE: Answer = {"error_code": Code.NONE}


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with the coordinator's code."""
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    outcome = TransactionResult.COMMIT if request.committed else TransactionResult.ABORT
    name, now_ms = request.transactional_id, broker.now_ms()
    try:
        require(broker, context, TRANSACTIONAL_ID_WRITE, name)
        if context.version < _BUMPING_VERSION:
            broker.coordinator.end(name, producer, outcome, now_ms)
            return _DONE
        after = broker.coordinator.end_with_epoch_bump(name, producer, outcome, now_ms)
    except KafkaError as refused:
        code = fenced_error_code(context.version, _FENCED_VERSION, refused.code)
        return {"error_code": code, "producer_id": NO_PRODUCER_ID, "producer_epoch": NO_EPOCH}
    return {"error_code": Code.NONE, "producer_id": after.producer_id, "producer_epoch": after.epoch}
