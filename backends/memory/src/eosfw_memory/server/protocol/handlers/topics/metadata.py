"""Metadata (3): describe the broker, the topics, the leader of each partition.

Behaviour
- Topics null (version 0: empty) means all of them. A topic asked for by name that does not exist is created with
  `num.partitions` partitions if the client allows it and `auto.create.topics.enable` is true, and exists at once. An
  invalid name is InvalidTopic. One request creates 10,000 partitions at most; topics beyond that are
  UnknownTopicOrPartition, as in Kafka every topic that is being created, and the client asks again.
- A topic that is named twice is described once.
- A request with topic ids is about these alone, whatever names it has; before version 12, as without a name, all of it
  is InvalidRequest.
- The broker leads every partition, after each start in a later leader epoch.

Version notes: allow_auto_topic_creation from 4, leader epochs from 7, topic ids from 10 (asked for by id from 12).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation
from eosfw_memory.common.time_slices import Slices, in_slices
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.server.protocol.authorization import allows, authorized_operations, cluster_operations
from eosfw_memory.server.protocol.rights import CLUSTER_CREATE, TOPIC_CREATE, TOPIC_DESCRIBE
from eosfw_memory.server.security.acl.acl_binding import ResourceType
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.log.topic_config import legal_name
from eosfw_memory.storage.topics.creation import Created, create_in_slices, first_of
from eosfw_memory.storage.topics.topic import Topic

_BY_ID_VERSION = 12
"""Requests have topic ids from 10 on; answers may lack the name only from this version on."""
_NOBODY = -1


def handle(broker: Broker, request: Any, context: Context) -> Answer | DelayedOperation:
    """Answer for the topics of the request, or for all."""
    if request.topics is None or (context.version == 0 and not request.topics):
        shown = (topic for topic in broker.topics if allows(broker, context, TOPIC_DESCRIBE, topic.name))
        return _answer(broker, request, context, map(_described, shown))
    return in_slices(_asked(broker, request, context))


def _asked(broker: Broker, request: Any, context: Context) -> Slices:
    if context.version < _BY_ID_VERSION:
        if any(wanted.name is None or getattr(wanted, "topic_id", None) is not None for wanted in request.topics):
            return _invalid(request)
    else:
        # As in Kafka names do not count where there are ids; Java's clients send an empty name with each id.
        topic_ids = [wanted.topic_id for wanted in request.topics if wanted.topic_id is not None]
        if topic_ids:
            return _answer(broker, request, context, (_found_by_id(broker, each, context) for each in topic_ids))
    names = dict.fromkeys(wanted.name for wanted in request.topics if wanted.name is not None)
    may_create = getattr(request, "allow_auto_topic_creation", True)
    known = (name for name in names if allows(broker, context, TOPIC_DESCRIBE, name))
    missing = list(broker.auto_created_topics(known)) if may_create else []
    creatable = {each.name: each for each in missing if _may_create(broker, context, each.name)}
    created = yield from create_in_slices(broker.topics, first_of(creatable.values()))
    denied = {each.name: KafkaError(TOPIC_CREATE.denied) for each in missing if each.name not in creatable}
    once = {(wanted.name, getattr(wanted, "topic_id", None)): wanted for wanted in request.topics}
    found = (_found(broker, wanted, context, {**created, **denied}) for wanted in once.values())
    return _answer(broker, request, context, found)


def _invalid(request: Any) -> Answer:
    topics = [_refused(wanted.name or "", wanted.topic_id, Code.INVALID_REQUEST) for wanted in request.topics]
    return {"brokers": (), "cluster_id": None, "controller_id": _NOBODY, "topics": topics}


def _may_create(broker: Broker, context: Context, name: str) -> bool:
    return allows(broker, context, CLUSTER_CREATE) or allows(broker, context, TOPIC_CREATE, name)


def _answer(broker: Broker, request: Any, context: Context, topics: Iterable[Answer]) -> Answer:
    endpoint = broker.endpoint_for(context.listener)
    return {
        "brokers": [{"node_id": NODE_ID, "host": endpoint.host, "port": endpoint.port}],
        "cluster_id": broker.cluster_id,
        "controller_id": NODE_ID,
        "topics": [_with_operations(broker, request, context, topic) for topic in topics],
        "cluster_authorized_operations": cluster_operations(broker, request, context),
    }


def _with_operations(broker: Broker, request: Any, context: Context, topic: Answer) -> Answer:
    """A topic with what the client may do to it, if it wants to know (KIP-430)."""
    name, denied = topic["name"], topic["error_code"] is TOPIC_DESCRIBE.denied
    if not isinstance(name, str) or denied or not getattr(request, "include_topic_authorized_operations", False):
        return topic
    operations = authorized_operations(broker, context, ResourceType.TOPIC, name)
    return {**topic, "topic_authorized_operations": operations}


def _found(broker: Broker, wanted: Any, context: Context, created: Created) -> Answer:
    if wanted.name is None:
        return _found_by_id(broker, None, context)
    # Before anything is looked up: the answer must not tell whether there is such a topic.
    if not allows(broker, context, TOPIC_DESCRIBE, wanted.name):
        return _refused(wanted.name, None, TOPIC_DESCRIBE.denied)
    topic = broker.topics.by_name(wanted.name)
    if topic is not None:
        return _described(topic)
    refused = created.get(wanted.name)
    if isinstance(refused, KafkaError):
        return _refused(wanted.name, None, refused.code)
    legal = legal_name(wanted.name)
    return _refused(wanted.name, None, Code.UNKNOWN_TOPIC_OR_PARTITION if legal else Code.INVALID_TOPIC_EXCEPTION)


def _found_by_id(broker: Broker, topic_id: UUID | None, context: Context) -> Answer:
    found = broker.topics.by_id(topic_id) if topic_id is not None else None
    if found is None:
        return _refused(None, topic_id, Code.UNKNOWN_TOPIC_ID)
    # Kafka does not take ids for secrets, so this answer differs from that for an id that there is not.
    allowed = allows(broker, context, TOPIC_DESCRIBE, found.name)
    return _described(found) if allowed else _refused(None, topic_id, TOPIC_DESCRIBE.denied)


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
