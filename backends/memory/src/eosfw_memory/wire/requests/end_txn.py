"""EndTxn (26): decide a transaction.

Behaviour
- Answered once the decision is in the transaction log; the markers follow (COR-08, 09).

Version notes: 5 would return a new epoch for each transaction (version 2 of transactions, KIP-890).
"""

from __future__ import annotations

from typing import Any

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.coordinators.states import Outcome
from eosfw_memory.deferred import Answer


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer with the coordinator's code."""
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    outcome = Outcome.COMMIT if request.committed else Outcome.ABORT
    try:
        broker.coordinator.end(request.transactional_id, producer, outcome, broker.now_ms())
    except KafkaError as refused:
        return {"error_code": refused.code}
    return {"error_code": Code.NONE}
