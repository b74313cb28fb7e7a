"""Metadata (3): name the broker, the topics, who leads each partition.

Behaviour
- Topics null (version 0: empty) means all of them. A topic asked for by name that does not exist is created with
  `num.partitions` partitions if the client allows it and `auto.create.topics.enable` is true, and exists at once. What
  can be no topic's name is InvalidTopic.
- One broker leads everything, after each of its starts in a later leader epoch.

Version notes: allow_auto_topic_creation from 4, leader epochs from 7, topic ids from 10 (asked for by id from 12).
"""

from __future__ import annotations

from typing import Any

from eosfw_memory.broker import NODE_ID, Broker, Context
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.deferred import Answer
from eosfw_memory.log.partition import PartitionLog
from eosfw_memory.topic_config import check_name
from eosfw_memory.topics import Topic

_BY_ID_VERSION = 12
"""Requests have room for ids from 10 on, answers without a name only from here on."""


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer with what the client asked about."""
    everything = request.topics is None or (context.version == 0 and not request.topics)
    may_create = getattr(request, "allow_auto_topic_creation", True)
    topics = (
        [_described(topic) for topic in broker.topics]
        if everything
        else [_asked(broker, wanted, context.version, may_create=may_create) for wanted in request.topics]
    )
    return {
        "brokers": [{"node_id": NODE_ID, "host": broker.endpoint.host, "port": broker.endpoint.port, "rack": None}],
        "cluster_id": broker.cluster_id,
        "controller_id": NODE_ID,
        "topics": topics,
    }


def _asked(broker: Broker, wanted: Any, version: int, *, may_create: bool) -> Answer:
    topic_id = getattr(wanted, "topic_id", None)
    if wanted.name is None and version < _BY_ID_VERSION:
        return _refused("", topic_id, Code.INVALID_REQUEST)
    if wanted.name is None:
        found = broker.topics.by_id(topic_id) if topic_id is not None else None
        return _described(found) if found else _refused(None, topic_id, Code.UNKNOWN_TOPIC_ID)
    try:
        check_name(wanted.name)
        topic = broker.topic_for_client(wanted.name, may_create=may_create)
    except KafkaError as refused:
        return _refused(wanted.name, None, refused.code)
    return _described(topic) if topic else _refused(wanted.name, None, Code.UNKNOWN_TOPIC_OR_PARTITION)


def _refused(name: str | None, topic_id: object, code: Code) -> Answer:
    return {"error_code": code, "name": name, "topic_id": topic_id, "partitions": ()}


def _described(topic: Topic) -> Answer:
    return {
        "error_code": Code.NONE,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.internal,
        "partitions": [_partition(index, each.log) for index, each in enumerate(topic.partitions)],
    }


def _partition(index: int, log: PartitionLog) -> Answer:
    return {
        "error_code": Code.NONE,
        "partition_index": index,
        "leader_id": NODE_ID,
        "leader_epoch": log.leader_epoch,
        "replica_nodes": (NODE_ID,),
        "isr_nodes": (NODE_ID,),
    }
