"""AddPartitionsToTxn (24): let a transaction touch partitions, starting it if need be.

Behaviour
- All or nothing: when one partition does not exist, it gets UnknownTopicOrPartition, the others
  OperationNotAttempted, and nothing is added.
- Otherwise the coordinator's answer (COR-06) holds for every partition.

Version notes: 4 and later carry several transactions at once, between brokers only.
"""

from __future__ import annotations

from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.deferred import Answer


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer for each partition."""
    topics = request.v3_and_below_topics
    wanted = [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]
    missing = {where for where in wanted if broker.topics.partition(*where) is None}
    code = Code.OPERATION_NOT_ATTEMPTED if missing else _added(broker, request, wanted)
    codes = dict.fromkeys(wanted, code) | dict.fromkeys(missing, Code.UNKNOWN_TOPIC_OR_PARTITION)
    return {"results_by_topic_v3_and_below": [_topic(topic, codes) for topic in topics]}


def _added(broker: Broker, request: Any, wanted: list[TopicPartition]) -> Code:
    producer = ProducerIdAndEpoch(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    try:
        broker.coordinator.add_partitions(request.v3_and_below_transactional_id, producer, wanted, broker.now_ms())
    except KafkaError as refused:
        return refused.code
    return Code.NONE


def _topic(topic: Any, codes: dict[TopicPartition, Code]) -> Answer:
    return {
        "name": topic.name,
        "results_by_partition": [
            {"partition_index": index, "partition_error_code": codes[TopicPartition(topic.name, index)]}
            for index in topic.partitions
        ],
    }
