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
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.partition_answers import each_partition
from eosfw_memory.server.protocol.rights import GROUP_DELETE, TOPIC_READ


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each partition."""
    if not allows(broker, context, GROUP_DELETE, request.group_id):
        return {"error_code": GROUP_DELETE.denied, "topics": ()}
    if not request.group_id:
        return {"error_code": Code.INVALID_GROUP_ID, "topics": ()}
    asked = [TopicPartition(topic.name, each.partition_index) for topic in request.topics for each in topic.partitions]
    denied = {where: TOPIC_READ.denied for where in asked if not allows(broker, context, TOPIC_READ, where.topic)}
    there = [where for where in asked if where not in denied and broker.topics.partition(*where) is not None]
    try:
        codes = {**denied, **broker.groups.offsets.delete(request.group_id, there, broker.now_ms())}
    except KafkaError as refused:
        return {"error_code": refused.code, "topics": ()}

    def answer(topic: str, wanted: Any) -> Answer:
        code = codes.get(TopicPartition(topic, wanted.partition_index), Code.UNKNOWN_TOPIC_OR_PARTITION)
        return {"partition_index": wanted.partition_index, "error_code": code}

    return {"error_code": Code.NONE, "topics": each_partition(request.topics, "partitions", answer)}
