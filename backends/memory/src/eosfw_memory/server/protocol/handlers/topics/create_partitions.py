"""CreatePartitions (37): give topics more partitions (KIP-195).

Behaviour
- `count` is the total after the request and must be larger than before. The new partitions exist at once; from then on
  keys may go to other partitions.
- Unlike in Kafka the broker's own topics are refused (InvalidRequest): with other partitions the coordinators would
  search their records in the wrong ones.

Version notes: 2 and 3 have the fields of 1 in the compact encoding.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.server.protocol.authorization import require
from eosfw_memory.server.protocol.rights import TOPIC_ALTER
from eosfw_memory.storage.log.topic_config import check_shape
from eosfw_memory.storage.topics.topic import Topic


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each topic, once for one that is named twice."""
    times = Counter(topic.name for topic in request.topics)
    wanted = {topic.name: topic for topic in request.topics}
    return {"results": [_topic(broker, each, times[name], request, context) for name, each in wanted.items()]}


def _topic(broker: Broker, wanted: Any, times: int, request: Any, context: Context) -> Answer:
    try:
        topic = _growing(broker, wanted, times, context)
        if not request.validate_only:
            broker.topics.grow(topic, wanted.count)
    except KafkaError as refused:
        return {"name": wanted.name, "error_code": refused.code, "error_message": refused.message}
    return {"name": wanted.name, "error_code": Code.NONE}


def _growing(broker: Broker, wanted: Any, times: int, context: Context) -> Topic:
    """The topic, if it can have as many partitions; raises KafkaError."""
    if times > 1:
        raise KafkaError(Code.INVALID_REQUEST, "Duplicate topic name.")
    require(broker, context, TOPIC_ALTER, wanted.name)
    topic = broker.topics.by_name(wanted.name)
    if topic is None:
        raise KafkaError(Code.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{wanted.name}' does not exist.")
    if topic.internal:
        raise KafkaError(Code.INVALID_REQUEST, f"topic {topic.name!r} is the broker's own: it keeps its partitions")
    there = len(topic.partitions)
    if wanted.count == there:
        raise KafkaError(Code.INVALID_PARTITIONS, f"Topic already has {there} partition(s).")
    if wanted.count < there:
        message = f"The topic {topic.name} currently has {there} partition(s); {wanted.count} would not be an increase."
        raise KafkaError(Code.INVALID_PARTITIONS, message)
    check_shape(wanted.count, topic.config)
    if wanted.assignments is not None:
        _check_assignments(wanted.count - there, wanted.assignments)
    return topic


def _check_assignments(more: int, assignments: Any) -> None:
    if len(assignments) != more:
        given = f"but only {len(assignments)} assignment(s) were specified."
        raise KafkaError(Code.INVALID_REPLICA_ASSIGNMENT, f"Attempted to add {more} additional partition(s), {given}")
    if any(tuple(each.broker_ids) != (NODE_ID,) for each in assignments):
        raise KafkaError(Code.INVALID_REPLICA_ASSIGNMENT, f"each partition has one replica here, on broker {NODE_ID}")
