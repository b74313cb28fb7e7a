"""Metadata (3): describe the broker, the topics, the leader of each partition.

Behaviour
- Topics null (version 0: empty) means all of them. A topic asked for by name that does not exist is created with
  `num.partitions` partitions if the client allows it and `auto.create.topics.enable` is true, and exists at once. An
  invalid name is InvalidTopic. One request creates 10,000 partitions at most; topics beyond that are
  UnknownTopicOrPartition, as in Kafka every topic that is being created, and the client asks again.
- The broker leads every partition, after each start in a later leader epoch.

Version notes: allow_auto_topic_creation from 4, leader epochs from 7, topic ids from 10 (asked for by id from 12).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation
from eosfw_memory.common.time_slices import Slices, in_slices
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.log.topic_config import legal_name
from eosfw_memory.storage.topics.creation import Created, create_in_slices, first_of
from eosfw_memory.storage.topics.topic import Topic

_BY_ID_VERSION = 12
"""Requests have topic ids from 10 on; answers may lack the name only from this version on."""


def handle(broker: Broker, request: Any, context: Context) -> Answer | DelayedOperation:
    """Answer for the topics of the request, or for all."""
    if request.topics is None or (context.version == 0 and not request.topics):
        return _answer(broker, context, map(_described, broker.topics))
    return in_slices(_asked(broker, request, context))


def _asked(broker: Broker, request: Any, context: Context) -> Slices:
    names = {wanted.name: None for wanted in request.topics if wanted.name is not None}
    may_create = getattr(request, "allow_auto_topic_creation", True)
    missing = broker.auto_created_topics(names) if may_create else ()
    created = yield from create_in_slices(broker.topics, first_of(missing))
    return _answer(broker, context, (_found(broker, wanted, context.version, created) for wanted in request.topics))


def _answer(broker: Broker, context: Context, topics: Iterable[Answer]) -> Answer:
    endpoint = broker.endpoint_for(context.listener)
    return {
        "brokers": [{"node_id": NODE_ID, "host": endpoint.host, "port": endpoint.port}],
        "cluster_id": broker.cluster_id,
        "controller_id": NODE_ID,
        "topics": list(topics),
    }


def _found(broker: Broker, wanted: Any, version: int, created: Created) -> Answer:
    topic_id = getattr(wanted, "topic_id", None)
    if wanted.name is None and version < _BY_ID_VERSION:
        return _refused("", topic_id, Code.INVALID_REQUEST)
    if wanted.name is None:
        found = broker.topics.by_id(topic_id) if topic_id is not None else None
        return _described(found) if found else _refused(None, topic_id, Code.UNKNOWN_TOPIC_ID)
    topic = broker.topics.by_name(wanted.name)
    if topic is not None:
        return _described(topic)
    refused = created.get(wanted.name)
    if isinstance(refused, KafkaError):
        return _refused(wanted.name, None, refused.code)
    legal = legal_name(wanted.name)
    return _refused(wanted.name, None, Code.UNKNOWN_TOPIC_OR_PARTITION if legal else Code.INVALID_TOPIC_EXCEPTION)


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
