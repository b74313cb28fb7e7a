"""WriteTxnMarkers (27): write the markers that end a producer's transaction in partitions.

Behaviour
- In Kafka coordinators send it to other brokers; here administrators use it to end a hanging transaction (KIP-664). The
  partition checks the epochs of the producer and the coordinator, as for any marker (BRK-05); the coordinator does not
  take part.
- The coordinators' own topics accept markers, as in Kafka; there they end only pending offsets of groups.
- No quota counts it, as in Kafka.
- A marker without a producer is UnknownServerError, as in Kafka.

Version notes: Kafka 4.1 has version 1 only.
"""

from __future__ import annotations

from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.transaction_metadata import NO_EPOCH
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.partition_answers import each_partition
from eosfw_memory.server.protocol.rights import CLUSTER_ACTION, CLUSTER_ALTER
from eosfw_memory.storage.records.batch import NO_PRODUCER_ID
from eosfw_memory.storage.records.transaction_result import TransactionResult


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each partition of each marker."""
    if context.quota is not None:
        context.quota.exempt()
    allowed = allows(broker, context, CLUSTER_ALTER) or allows(broker, context, CLUSTER_ACTION)
    return {"markers": [_marker(broker, marker, allowed=allowed) for marker in request.markers]}


def _marker(broker: Broker, marker: Any, *, allowed: bool) -> Answer:
    def answer(topic: str, index: int) -> Answer:
        code = _written(broker, marker, topic, index) if allowed else CLUSTER_ACTION.denied
        return {"partition_index": index, "error_code": code}

    topics = each_partition(marker.topics, "partition_indexes", answer)
    return {"producer_id": marker.producer_id, "topics": topics}


def _written(broker: Broker, marker: Any, topic: str, index: int) -> Code:
    if marker.producer_id == NO_PRODUCER_ID or marker.producer_epoch == NO_EPOCH:
        return Code.UNKNOWN_SERVER_ERROR
    producer = ProducerIdAndEpoch(marker.producer_id, marker.producer_epoch)
    outcome = TransactionResult.COMMIT if marker.transaction_result else TransactionResult.ABORT
    try:
        broker.write_marker(TopicPartition(topic, index), producer, outcome, marker.coordinator_epoch)
    except KafkaError as refused:
        return refused.code
    return Code.NONE
