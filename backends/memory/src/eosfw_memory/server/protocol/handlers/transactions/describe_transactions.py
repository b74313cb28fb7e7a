"""DescribeTransactions (65): show the state of transactional ids (KIP-664).

Behaviour
- An unknown id is TransactionalIdNotFound, with 0 in every other field, as in Kafka.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.partition_answers import by_topic
from eosfw_memory.server.protocol.rights import TOPIC_DESCRIBE, TRANSACTIONAL_ID_DESCRIBE


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each id."""
    return {"transaction_states": [_described(broker, name, context) for name in request.transactional_ids]}


def _described(broker: Broker, transactional_id: str, context: Context) -> Answer:
    if not allows(broker, context, TRANSACTIONAL_ID_DESCRIBE, transactional_id):
        return _refused(transactional_id, TRANSACTIONAL_ID_DESCRIBE.denied)
    known = broker.coordinator.describe(transactional_id)
    if not transactional_id or known is None:
        code = Code.TRANSACTIONAL_ID_NOT_FOUND if transactional_id else Code.INVALID_REQUEST
        return _refused(transactional_id, code)
    shown = (each for each in sorted(known.partitions) if allows(broker, context, TOPIC_DESCRIBE, each.topic))
    return {
        "error_code": Code.NONE,
        "transactional_id": transactional_id,
        "transaction_state": known.state.label,
        "transaction_timeout": known.timeout_ms,
        "transaction_start_time": known.started_ms,
        "producer_id": known.producer_id,
        "producer_epoch": known.epoch,
        "topics": by_topic(shown, "topic"),
    }


def _refused(transactional_id: str, code: Code) -> Answer:
    return {
        "error_code": code,
        "transactional_id": transactional_id,
        "transaction_state": "",
        "transaction_timeout": 0,
        "transaction_start_time": 0,
        "producer_id": 0,
        "producer_epoch": 0,
        "topics": (),
    }
