"""DescribeProducers (61): show who writes to a partition, with the transactions that are open there (KIP-664)."""

from __future__ import annotations

from typing import Any

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.partition_answers import each_partition
from eosfw_memory.server.protocol.rights import TOPIC_READ
from eosfw_memory.storage.log.topic_config import legal_name

_NOTHING_OPEN = -1


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each partition."""
    answers = each_partition(
        request.topics, "partition_indexes", lambda topic, n: _partition(broker, topic, n, context)
    )
    return {"topics": answers}


def _partition(broker: Broker, topic: str, index: int, context: Context) -> Answer:
    if not legal_name(topic):
        return {"partition_index": index, "error_code": Code.INVALID_TOPIC_EXCEPTION, "active_producers": ()}
    if not allows(broker, context, TOPIC_READ, topic):
        return {"partition_index": index, "error_code": TOPIC_READ.denied, "active_producers": ()}
    partition = broker.topics.partition(topic, index)
    if partition is None:
        return {"partition_index": index, "error_code": Code.UNKNOWN_TOPIC_OR_PARTITION, "active_producers": ()}
    log = partition.log
    first_offsets = {each.producer.producer_id: each.first_offset for each in log.open_transactions()}
    producers = [
        {
            "producer_id": producer_id,
            "producer_epoch": entry.epoch,
            "last_sequence": entry.last_sequence,
            "last_timestamp": entry.last_timestamp,
            "coordinator_epoch": entry.coordinator_epoch,
            "current_txn_start_offset": first_offsets.get(producer_id, _NOTHING_OPEN),
        }
        for producer_id, entry in log.producers().items()
    ]
    return {"partition_index": index, "error_code": Code.NONE, "active_producers": producers}
