"""AddOffsetsToTxn (25): add the offsets of a group to a transaction, which begins if none is open (COR-07).

Behaviour
- Adds the partition of `__consumer_offsets` that keeps the group, by the rules of AddPartitionsToTxn.

Version notes: before 2 the code for a fenced producer is InvalidProducerEpoch. Version 2 of transactions does not need
this request (KIP-890).
"""

from __future__ import annotations

from typing import Any

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import require
from eosfw_memory.server.protocol.rights import GROUP_READ, TRANSACTIONAL_ID_WRITE
from eosfw_memory.server.protocol.transaction_verification import fenced_error_code

_FENCED_VERSION = 2


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with the coordinator's code."""
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    try:
        require(broker, context, TRANSACTIONAL_ID_WRITE, request.transactional_id)
        require(broker, context, GROUP_READ, request.group_id)
        where = broker.offsets_partition(request.group_id)
        broker.coordinator.add_partitions(request.transactional_id, producer, [where], broker.now_ms())
    except KafkaError as refused:
        return {"error_code": fenced_error_code(context.version, _FENCED_VERSION, refused.code)}
    return {"error_code": Code.NONE}
