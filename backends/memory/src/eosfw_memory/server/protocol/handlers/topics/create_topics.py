"""CreateTopics (19): create topics.

Behaviour
- A refusal of one topic does not affect the others. Partitions -1 means `num.partitions`. One broker holds one replica:
  a replication factor other than -1 or 1 is InvalidReplicationFactor.
- Unknown or invalid topic properties are InvalidConfig, as is one that is null; the message names them.
- Who assigns replicas to partitions says no numbers beside that (InvalidRequest), and names this broker alone.
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
from eosfw_memory.server.broker.state import NODE_ID
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_CREATE, TOPIC_CREATE, TOPIC_DESCRIBE_CONFIGS
from eosfw_memory.storage.log.topic_config import check_shape, check_wanted, in_force, source
from eosfw_memory.storage.topics.creation import MAX_PARTITIONS_PER_REQUEST, Created, create_in_slices
from eosfw_memory.storage.topics.topic import NewTopic, Topic

_DEFAULT = -1
_TOO_MANY = KafkaError(Code.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def handle(broker: Broker, request: Any, context: Context) -> Answer | DelayedOperation:
    """Create each topic, answering for each by itself."""
    return in_slices(_created(broker, request, context))


def _created(broker: Broker, request: Any, context: Context) -> Slices:
    if sum(_declared_partitions(broker, topic) for topic in request.topics) > MAX_PARTITIONS_PER_REQUEST:
        return {"topics": [_refused(topic.name, _TOO_MANY) for topic in request.topics]}
    times = Counter(topic.name for topic in request.topics)
    checked = [_checked(broker, topic, times[topic.name], context) for topic in request.topics]
    wanted = [each for each in checked if isinstance(each, NewTopic)]
    created: Created = {}
    if not request.validate_only:
        created = yield from create_in_slices(broker.topics, wanted)
    pairs = zip(request.topics, checked, strict=True)
    return {"topics": [_answered(broker, topic.name, each, created, context) for topic, each in pairs]}


def _checked(broker: Broker, wanted: Any, times: int, context: Context) -> NewTopic | KafkaError:
    """The topic as it is to be, or the first of Kafka's reasons against it, in Kafka's order."""
    try:
        _check_permitted(broker, wanted, times, context)
        broker.topics.check_available(wanted.name)
        config = _config(wanted)
        partitions = _partitions(broker, wanted)
        check_shape(partitions, config)
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


def _check_permitted(broker: Broker, wanted: Any, times: int, context: Context) -> None:
    if times > 1:
        raise KafkaError(Code.INVALID_REQUEST, "Duplicate topic name.")
    if not (allows(broker, context, CLUSTER_CREATE) or allows(broker, context, TOPIC_CREATE, wanted.name)):
        raise KafkaError(TOPIC_CREATE.denied, "Authorization failed.")


def _config(wanted: Any) -> dict[str, str]:
    if nulls := [config.name for config in wanted.configs if config.value is None]:
        raise KafkaError(Code.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
    config = {config.name: config.value for config in wanted.configs}
    check_wanted(config)
    return config


def _declared_partitions(broker: Broker, wanted: Any) -> int:
    if wanted.assignments:
        return len(wanted.assignments)
    return broker.settings.num_partitions if wanted.num_partitions == _DEFAULT else int(wanted.num_partitions)


def _partitions(broker: Broker, wanted: Any) -> int:
    if wanted.assignments:
        _check_assignments(wanted)
    elif wanted.replication_factor < _DEFAULT or wanted.replication_factor == 0:
        raise KafkaError(
            Code.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    elif wanted.num_partitions < _DEFAULT or wanted.num_partitions == 0:
        raise KafkaError(Code.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
    elif wanted.replication_factor > 1:
        times_text = f"{wanted.replication_factor} time(s): only 1 broker is registered."
        raise KafkaError(Code.INVALID_REPLICATION_FACTOR, f"Unable to replicate the partition {times_text}")
    return _declared_partitions(broker, wanted)


def _check_assignments(wanted: Any) -> None:
    for said, what in ((wanted.replication_factor, "replication factor"), (wanted.num_partitions, "numPartitions")):
        if said != _DEFAULT:
            beside = f"A manual partition assignment was specified, but {what} was not set to -1."
            raise KafkaError(Code.INVALID_REQUEST, beside)
    indexes = sorted(assignment.partition_index for assignment in wanted.assignments)
    if indexes != list(range(len(indexes))):
        raise KafkaError(Code.INVALID_REPLICA_ASSIGNMENT, "the partitions that are assigned must be 0, 1, ...")
    if any(tuple(each.broker_ids) != (NODE_ID,) for each in wanted.assignments):
        raise KafkaError(Code.INVALID_REPLICA_ASSIGNMENT, f"each partition has one replica here, on broker {NODE_ID}")


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
