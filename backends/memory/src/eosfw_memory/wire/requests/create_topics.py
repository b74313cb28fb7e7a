"""CreateTopics (19): create topics.

Behaviour
- Each topic stands for itself; one refused leaves the others. Partitions -1 means `num.partitions`. One broker holds
  one replica: a replication factor other than -1 or 1 is InvalidReplicationFactor.
- Unknown or impossible topic properties are InvalidConfig, and named.

Version notes: validate_only from 1, defaults (-1) from 4, the topic's configuration in the answer from 5, ids from 7.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.deferred import Answer
from eosfw_memory.topic_config import check_wanted, in_force
from eosfw_memory.topics import Topic

_DEFAULT = -1
_DYNAMIC_TOPIC_CONFIG, _DEFAULT_CONFIG = 1, 5


def handle(broker: Broker, request: Any, context: Context) -> Answer:  # noqa: ARG001
    """Create each topic, answering for each by itself."""
    times = Counter(topic.name for topic in request.topics)
    return {"topics": [_topic(broker, topic, times[topic.name], request.validate_only) for topic in request.topics]}


def _topic(broker: Broker, wanted: Any, times: int, validate_only: bool) -> Answer:  # noqa: FBT001
    try:
        partitions = _partitions(broker, wanted, times)
        config = {config.name: config.value for config in wanted.configs if config.value is not None}
        broker.topics.check(wanted.name, partitions, config)
        check_wanted(config)
        made = None if validate_only else broker.topics.create(wanted.name, partitions, config)
    except KafkaError as refused:
        return {"name": wanted.name, "error_code": refused.code, "error_message": refused.message, "topic_id": None}
    return _created(wanted.name, partitions, config, made)


def _partitions(broker: Broker, wanted: Any, times: int) -> int:
    if times > 1:
        raise KafkaError(Code.INVALID_REQUEST, "Duplicate topic name.")
    if wanted.assignments:
        return _assigned(wanted)
    if wanted.replication_factor not in (_DEFAULT, 1):
        raise KafkaError(
            Code.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {wanted.replication_factor} time(s): only 1 broker is registered.",
        )
    return broker.settings.num_partitions if wanted.num_partitions == _DEFAULT else int(wanted.num_partitions)


def _assigned(wanted: Any) -> int:
    indexes = sorted(assignment.partition_index for assignment in wanted.assignments)
    if indexes != list(range(len(indexes))) or any(len(each.broker_ids) != 1 for each in wanted.assignments):
        raise KafkaError(Code.INVALID_REPLICA_ASSIGNMENT, "partitions must be 0, 1, ... with one replica each")
    return len(indexes)


def _created(name: str, partitions: int, config: dict[str, str], made: Topic | None) -> Answer:
    return {
        "name": name,
        "topic_id": made.topic_id if made else None,
        "error_code": Code.NONE,
        "error_message": None,
        "num_partitions": partitions,
        "replication_factor": 1,
        "configs": [_config(key, value, given=key in config) for key, value in in_force(config).items()],
    }


def _config(name: str, value: str, *, given: bool) -> Answer:
    source = _DYNAMIC_TOPIC_CONFIG if given else _DEFAULT_CONFIG
    return {"name": name, "value": value, "read_only": False, "config_source": source, "is_sensitive": False}
