"""DeleteTopics (20): delete topics with their records.

Behaviour
- They are gone at once; an open transaction completes without them. The offsets that groups committed for a topic are
  deleted with it, and those that an open transaction would commit.
- A topic that is named twice, by name or id, is InvalidRequest and stays. Unlike in Kafka so is one of the broker's
  own: the coordinators would lose their state.

Version notes: messages from 5; topics by id from 6.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final
from uuid import UUID

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.storage.topics.topic import Topic

_BY_ID_VERSION = 6
_ABSENT: Final = {
    Code.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    Code.UNKNOWN_TOPIC_ID: "This server does not host this topic ID.",
}


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Delete each topic; answer for each, once for one that is named twice."""
    by_id = context.version >= _BY_ID_VERSION
    wanted = (
        [(topic.name, topic.topic_id) for topic in request.topics]
        if by_id
        else [(name, None) for name in request.topic_names]
    )
    times = Counter(_meant(broker, *each) for each in wanted)
    return {"responses": [_delete(broker, *each, times[_meant(broker, *each)]) for each in dict.fromkeys(wanted)]}


def _meant(broker: Broker, name: str | None, topic_id: UUID | None) -> object:
    topic = _found(broker, name, topic_id)
    return (name, topic_id) if topic is None else topic.topic_id


def _found(broker: Broker, name: str | None, topic_id: UUID | None) -> Topic | None:
    if name is not None:
        return broker.topics.by_name(name)
    return None if topic_id is None else broker.topics.by_id(topic_id)


def _delete(broker: Broker, name: str | None, topic_id: UUID | None, times: int) -> Answer:
    try:
        topic = _deletable(broker, name, topic_id, times)
        broker.delete_topic(topic)
    except KafkaError as refused:
        return {"name": name, "topic_id": topic_id, "error_code": refused.code, "error_message": refused.message}
    return {"name": topic.name, "topic_id": topic.topic_id, "error_code": Code.NONE}


def _deletable(broker: Broker, name: str | None, topic_id: UUID | None, times: int) -> Topic:
    if (name is None) == (topic_id is None):
        both = "You may not specify both topic name and topic id."
        raise KafkaError(Code.INVALID_REQUEST, both if name else "Neither topic name nor id were specified.")
    if times > 1:
        raise KafkaError(Code.INVALID_REQUEST, f"Duplicate topic {'id' if name is None else 'name'}.")
    topic = _found(broker, name, topic_id)
    if topic is None:
        code = Code.UNKNOWN_TOPIC_ID if name is None else Code.UNKNOWN_TOPIC_OR_PARTITION
        raise KafkaError(code, _ABSENT[code])
    if topic.internal:
        raise KafkaError(Code.INVALID_REQUEST, f"topic {topic.name!r} is the broker's own: it cannot be deleted")
    return topic
