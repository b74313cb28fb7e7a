"""CreateTopics (19): create topics.

Behaviour
- A refusal of one topic does not affect the others. Partitions -1 means `num.partitions`. One broker holds one replica:
  a replication factor other than -1 or 1 is InvalidReplicationFactor.
- Unknown or invalid topic properties are InvalidConfig; the message names them.
- A request for more than 10,000 partitions in all is PolicyViolation, and creates nothing.

Version notes: validate_only from 1, defaults (-1) from 4, the topic's configuration in the answer from 5, ids from 7.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer, DelayedOperation
from eosfw_memory.common.time_slices import Slices, in_slices
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.authorization import allows, require
from eosfw_memory.server.protocol.rights import CLUSTER_CREATE, TOPIC_CREATE, TOPIC_DESCRIBE_CONFIGS
from eosfw_memory.storage.log.topic_config import check_wanted, in_force, source
from eosfw_memory.storage.topics.creation import MAX_PARTITIONS_PER_REQUEST, Created, create_in_slices
from eosfw_memory.storage.topics.topic import NewTopic, Topic

_DEFAULT = -1
_TOO_MANY = KafkaError(Code.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def handle(broker: Broker, request: Any, context: Context) -> Answer | DelayedOperation:
    """Create each topic, answering for each by itself."""
    return in_slices(_created(broker, request, context))


def _created(broker: Broker, request: Any, context: Context) -> Slices:
    times = Counter(topic.name for topic in request.topics)
    checked = [_checked(broker, topic, times[topic.name], context) for topic in request.topics]
    wanted = [each for each in checked if isinstance(each, NewTopic)]
    if sum(each.partitions for each in wanted) > MAX_PARTITIONS_PER_REQUEST:
        return {"topics": [_refused(topic.name, _TOO_MANY) for topic in request.topics]}
    created: Created = {}
    if not request.validate_only:
        created = yield from create_in_slices(broker.topics, wanted)
    pairs = zip(request.topics, checked, strict=True)
    return {"topics": [_answered(broker, topic.name, each, created, context) for topic, each in pairs]}


def _checked(broker: Broker, wanted: Any, times: int, context: Context) -> NewTopic | KafkaError:
    try:
        partitions = _partitions(broker, wanted, times, context)
        config = {config.name: config.value for config in wanted.configs if config.value is not None}
        broker.topics.check(wanted.name, partitions, config)
        check_wanted(config)
    except KafkaError as refused:
        return refused
    return NewTopic(wanted.name, partitions, config)


def _answered(broker: Broker, name: str, checked: NewTopic | KafkaError, created: Created, context: Context) -> Answer:
    made = created.get(name)
    if isinstance(checked, KafkaError):
        return _refused(name, checked)
    if isinstance(made, KafkaError):
        return _refused(name, made)
    if not allows(broker, context, TOPIC_DESCRIBE_CONFIGS, name):
        return _undescribed(name, made)
    return _described(broker, checked, made)


def _refused(name: str, why: KafkaError) -> Answer:
    return {"name": name, "error_code": why.code, "error_message": why.message}


def _partitions(broker: Broker, wanted: Any, times: int, context: Context) -> int:
    if times > 1:
        raise KafkaError(Code.INVALID_REQUEST, "Duplicate topic name.")
    if not allows(broker, context, CLUSTER_CREATE):
        require(broker, context, TOPIC_CREATE, wanted.name)
    if wanted.assignments:
        return _assigned(wanted)
    if wanted.replication_factor not in (_DEFAULT, 1):
        times_text = f"{wanted.replication_factor} time(s): only 1 broker is registered."
        raise KafkaError(Code.INVALID_REPLICATION_FACTOR, f"Unable to replicate the partition {times_text}")
    return broker.settings.num_partitions if wanted.num_partitions == _DEFAULT else int(wanted.num_partitions)


def _assigned(wanted: Any) -> int:
    indexes = sorted(assignment.partition_index for assignment in wanted.assignments)
    if indexes != list(range(len(indexes))) or any(len(each.broker_ids) != 1 for each in wanted.assignments):
        raise KafkaError(Code.INVALID_REPLICA_ASSIGNMENT, "partitions must be 0, 1, ... with one replica each")
    return len(indexes)


def _undescribed(name: str, made: Topic | None) -> Answer:
    return {
        "name": name,
        "topic_id": made.topic_id if made else None,
        "error_code": Code.NONE,
        "topic_config_error_code": TOPIC_DESCRIBE_CONFIGS.denied,
        "num_partitions": -1,
        "replication_factor": -1,
        "configs": (),
    }


def _described(broker: Broker, wanted: NewTopic, made: Topic | None) -> Answer:
    defaults = broker.topics.defaults
    return {
        "name": wanted.name,
        "topic_id": made.topic_id if made else None,
        "error_code": Code.NONE,
        "num_partitions": wanted.partitions,
        "replication_factor": 1,
        "configs": [
            {
                "name": name,
                "value": value,
                "read_only": False,
                "config_source": source(name, wanted.config, defaults),
                "is_sensitive": False,
            }
            for name, value in in_force(wanted.config, defaults).items()
        ],
    }
