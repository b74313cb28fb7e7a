"""DescribeTransactions (65): show the state of transactional ids (KIP-664).

Behaviour
- An unknown id is TransactionalIdNotFound, with 0 in every other field, as in Kafka.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.partition_answers import by_topic


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer for each id."""
    return {"transaction_states": [_described(broker, name) for name in request.transactional_ids]}


def _described(broker: Broker, transactional_id: str) -> Answer:
    known = broker.coordinator.describe(transactional_id)
    if not transactional_id or known is None:
        code = Code.TRANSACTIONAL_ID_NOT_FOUND if transactional_id else Code.INVALID_REQUEST
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
    return {
        "error_code": Code.NONE,
        "transactional_id": transactional_id,
        "transaction_state": known.state.label,
        "transaction_timeout": known.timeout_ms,
        "transaction_start_time": known.started_ms,
        "producer_id": known.producer_id,
        "producer_epoch": known.epoch,
        "topics": by_topic(sorted(known.partitions), "topic"),
    }
