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
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_DELETE, TOPIC_DELETE, TOPIC_DESCRIBE
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
    client = _Client(broker, context)
    times = Counter(_meant(client, *each) for each in wanted)
    return {"responses": [_delete(client, *each, times[_meant(client, *each)]) for each in dict.fromkeys(wanted)]}


@dataclass(frozen=True, slots=True)
class _Client:
    """What the client of a request may do."""

    broker: Broker
    context: Context

    def may_delete(self, name: str) -> bool:
        every = allows(self.broker, self.context, CLUSTER_DELETE)
        return every or allows(self.broker, self.context, TOPIC_DELETE, name)

    def may_describe(self, name: str) -> bool:
        every = allows(self.broker, self.context, CLUSTER_DELETE)
        return every or allows(self.broker, self.context, TOPIC_DESCRIBE, name)


def _meant(client: _Client, name: str | None, topic_id: UUID | None) -> object:
    topic = _found(client.broker, name, topic_id)
    # Who may not delete a topic is not told that a name and an id belong together.
    return topic.topic_id if topic is not None and client.may_delete(topic.name) else (name, topic_id)


def _found(broker: Broker, name: str | None, topic_id: UUID | None) -> Topic | None:
    if name is not None:
        return broker.topics.by_name(name)
    return None if topic_id is None else broker.topics.by_id(topic_id)


def _delete(client: _Client, name: str | None, topic_id: UUID | None, times: int) -> Answer:
    try:
        topic = _deletable(client, name, topic_id, times)
        client.broker.delete_topic(topic)
    except KafkaError as refused:
        shown = _described_name(client, topic_id) if refused.code is TOPIC_DELETE.denied and name is None else name
        return {"name": shown, "topic_id": topic_id, "error_code": refused.code, "error_message": refused.message}
    return {"name": topic.name, "topic_id": topic.topic_id, "error_code": Code.NONE}


def _described_name(client: _Client, topic_id: UUID | None) -> str | None:
    topic = _found(client.broker, None, topic_id)
    return topic.name if topic is not None and client.may_describe(topic.name) else None


def _deletable(client: _Client, name: str | None, topic_id: UUID | None, times: int) -> Topic:
    if (name is None) == (topic_id is None):
        both = "You may not specify both topic name and topic id."
        raise KafkaError(Code.INVALID_REQUEST, both if name else "Neither topic name nor id were specified.")
    if times > 1:
        raise KafkaError(Code.INVALID_REQUEST, f"Duplicate topic {'id' if name is None else 'name'}.")
    if name is not None and not client.may_describe(name):
        raise KafkaError(TOPIC_DESCRIBE.denied)
    topic = _found(client.broker, name, topic_id)
    if topic is None:
        code = Code.UNKNOWN_TOPIC_ID if name is None else Code.UNKNOWN_TOPIC_OR_PARTITION
        raise KafkaError(code, _ABSENT[code])
    if not client.may_delete(topic.name):
        raise KafkaError(TOPIC_DELETE.denied)
    if topic.internal:
        raise KafkaError(Code.INVALID_REQUEST, f"topic {topic.name!r} is the broker's own: it cannot be deleted")
    return topic
