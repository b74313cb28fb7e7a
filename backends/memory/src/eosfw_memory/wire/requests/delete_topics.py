"""DeleteTopics (20): delete topics with their records.

Behaviour
- At once; an open transaction completes without the partition. What groups have committed for a topic goes with it,
  and what a transaction would commit.

Version notes: messages from 5; topics by id from 6.
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code
from eosfw_memory.deferred import Answer
from eosfw_memory.topics import Topic

_BY_ID_VERSION = 6


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Delete each topic, answering for each by itself."""
    if context.version < _BY_ID_VERSION:
        return {"responses": [_delete(broker, name, None) for name in request.topic_names]}
    return {"responses": [_delete(broker, topic.name, topic.topic_id) for topic in request.topics]}


def _delete(broker: Broker, name: str | None, topic_id: Any) -> Answer:
    topic = broker.topics.by_name(name) if name is not None else broker.topics.by_id(topic_id)
    code = _refusal(topic, by_name=name is not None)
    if topic is not None and code is Code.NONE:
        broker.delete_topic(topic)
        name, topic_id = topic.name, topic.topic_id
    return {"name": name, "topic_id": topic_id, "error_code": code, "error_message": None}


def _refusal(topic: Topic | None, *, by_name: bool) -> Code:
    if topic is None:
        return Code.UNKNOWN_TOPIC_OR_PARTITION if by_name else Code.UNKNOWN_TOPIC_ID
    return Code.INVALID_REQUEST if topic.internal else Code.NONE
