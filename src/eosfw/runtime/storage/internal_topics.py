"""The config topic and the offsets topic of a worker group (Kafka Connect's internal topics)."""

from __future__ import annotations

import logging
from dataclasses import replace

from eosfw.config import Config
from eosfw.config.connector import OFFSETS_TOPIC
from eosfw.errors import (
    ClusterAuthorizationError,
    ConfigError,
    Problem,
    TopicAuthorizationError,
    TopicExistsError,
    UnsupportedError,
)
from eosfw.protocols import Admin, NewTopic
from eosfw.runtime.storage.topic_creation import COMPACTED

logger = logging.getLogger(__name__)

CONFIGS = "config.storage.topic"
OFFSETS = "offset.storage.topic"
STATUS = "status.storage.topic"
MEMBERS = "group.id"
"""The topic through which workers agree has no property of its own: its name follows from that one."""
_POLICY = "cleanup.policy"
_NOT_ALLOWED_TO_DESCRIBE = (TopicAuthorizationError, ClusterAuthorizationError, UnsupportedError)
_SINGLE = {CONFIGS: "a config topic", MEMBERS: "the topic through which the workers of a group agree"}
_LOST = {
    CONFIGS: "its retention would delete connectors, and with them whom to fence",
    OFFSETS: "its retention would delete source offsets, and what they stand for would be sent again",
    STATUS: "its retention would delete the states of connectors and tasks",
    MEMBERS: "its retention would delete who runs which task",
}


def config_topic(worker: Config) -> NewTopic:
    """The topic of a worker group's configurations, as it is to be created."""
    return NewTopic(worker[CONFIGS], 1, worker["config.storage.replication.factor"], COMPACTED)


def offsets_topic(worker: Config) -> NewTopic:
    """The topic of a worker group's source offsets, as it is to be created."""
    return NewTopic(
        worker[OFFSETS],
        worker["offset.storage.partitions"],
        worker["offset.storage.replication.factor"],
        COMPACTED,
    )


def status_topic(worker: Config) -> NewTopic:
    """The topic of the states that the workers of a group report, as it is to be created."""
    return NewTopic(
        worker[STATUS],
        worker["status.storage.partitions"],
        worker["status.storage.replication.factor"],
        COMPACTED,
    )


def connector_offsets_topic(worker: Config, connector: Config) -> NewTopic:
    """The topic that the tasks of a connector write their offsets to; the worker's unless it names another."""
    return replace(offsets_topic(worker), name=connector[OFFSETS_TOPIC] or worker[OFFSETS])


def ensure_connector_offsets_topic(admin: Admin, topic: NewTopic) -> None:
    """Create a connector's own offsets topic, or leave it to who does so now; ConfigError if it is not compacted."""
    if topic.name not in admin.partitions([topic.name]):
        try:
            return admin.create_topics([topic])
        except TopicExistsError:  # another worker was faster, maybe with other settings
            pass
    found = _policy(admin, topic.name)
    if found not in (None, {"compact"}):
        raise ConfigError(Problem(OFFSETS_TOPIC, _not_compacted(topic.name, found or set(), _LOST[OFFSETS])))
    return None


def members_topic_name(worker: Config) -> str:
    """The name of the topic through which the workers of a group agree."""
    return f"{worker['group.id']}-members"


def members_topic(worker: Config) -> NewTopic:
    """The topic through which the workers of a group agree, as it is to be created."""
    return NewTopic(members_topic_name(worker), 1, worker["config.storage.replication.factor"], COMPACTED)


def ensure_internal_topics(admin: Admin, worker: Config, *, distributed: bool = False) -> None:
    """Create missing topics; ConfigError for an existing topic whose settings would lose records.

    Only the workers of a group that is `distributed` over processes have a status topic and a members topic.
    """
    _refuse_unfit(admin, worker)
    of_group = [status_topic(worker), members_topic(worker)]
    wanted = [config_topic(worker), offsets_topic(worker), *(of_group if distributed else [])]
    missing = {topic.name for topic in wanted} - set(admin.partitions([topic.name for topic in wanted]))
    for topic in wanted:
        if topic.name in missing:
            try:
                admin.create_topics([topic])
            except TopicExistsError:  # another worker created it first, maybe with other settings
                _refuse_unfit(admin, worker)


def internal_topic_problems(admin: Admin, worker: Config) -> list[Problem]:
    """What is wrong with the topics that exist, by Kafka Connect's rules (LOG-01); changes nothing."""
    keys = {members_topic_name(worker): MEMBERS, **{worker[key]: key for key in (CONFIGS, OFFSETS, STATUS)}}
    problems = []
    for topic, partitions in admin.partitions(list(keys)).items():
        if keys[topic] in _SINGLE and partitions != 1:
            problems.append(Problem(keys[topic], _divided(topic, partitions, _SINGLE[keys[topic]])))
        found = _policy(admin, topic)
        if found not in (None, {"compact"}):
            problems.append(Problem(keys[topic], _not_compacted(topic, found or set(), _LOST[keys[topic]])))
    return problems


def _refuse_unfit(admin: Admin, worker: Config) -> None:
    if problems := internal_topic_problems(admin, worker):
        raise ConfigError(*problems)


def _policy(admin: Admin, topic: str) -> set[str] | None:
    try:
        text = admin.topic_config(topic).get(_POLICY)
    except _NOT_ALLOWED_TO_DESCRIBE as why:
        # Kafka Connect goes on as well, and says it at this level: least rights are to read and write alone.
        logger.info("nobody looked whether topic %s is compacted: %s", topic, why)
        return None
    return None if text is None else {word.strip() for word in text.split(",") if word.strip()}


def _divided(topic: str, partitions: int, what: str) -> str:
    return (
        f"topic {topic!r} has {partitions} partitions; {what} must have exactly one, "
        f"because its order is what workers agree on. Name another topic, or recreate this one"
    )


def _not_compacted(topic: str, found: set[str], lost: str) -> str:
    return (
        f"topic {topic!r} has {_POLICY}={','.join(sorted(found))}; it must be compact alone: {lost}. "
        f"Set {_POLICY}=compact on it, or name another topic"
    )
