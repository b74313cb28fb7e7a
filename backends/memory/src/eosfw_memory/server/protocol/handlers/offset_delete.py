"""OffsetDelete (47): delete some offsets of a group (KIP-496).

Behaviour
- Offsets of topics that members have subscribed to stay (GroupSubscribedToTopic); a group whose members are not
  consumers is NonEmptyGroup.
"""

from __future__ import annotations

from typing import Any

from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Answer for each partition."""
    asked = [TopicPartition(topic.name, each.partition_index) for topic in request.topics for each in topic.partitions]
    there = [where for where in asked if broker.topics.partition(*where) is not None]
    try:
        codes = broker.groups.offsets.delete(request.group_id, there, broker.now_ms())
    except KafkaError as refused:
        return {"error_code": refused.code, "topics": ()}
    topics: dict[str, list[Answer]] = {}
    for topic, index in asked:
        code = codes.get(TopicPartition(topic, index), Code.UNKNOWN_TOPIC_OR_PARTITION)
        topics.setdefault(topic, []).append({"partition_index": index, "error_code": code})
    return {
        "error_code": Code.NONE,
        "topics": [{"name": name, "partitions": partitions} for name, partitions in topics.items()],
    }
