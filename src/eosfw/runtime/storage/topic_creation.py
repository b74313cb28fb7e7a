"""Creation of topics that do not exist yet (Kafka Connect's `TopicAdmin`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from eosfw.config.connector.topic_creation import TopicCreationGroup
from eosfw.errors import (
    ClusterAuthorizationError,
    ConfigError,
    IndefiniteOutcomeError,
    RetriableError,
    TaskFailedError,
    TopicAuthorizationError,
    TopicExistsError,
    UnsupportedError,
)
from eosfw.protocols import Admin, NewTopic

logger = logging.getLogger(__name__)

_NOT_ALLOWED = (TopicAuthorizationError, ClusterAuthorizationError, UnsupportedError)
COMPACTED: Mapping[str, str] = {"cleanup.policy": "compact"}


def ensure_topic(admin: Admin, topic: NewTopic) -> None:
    """Create a topic unless it exists."""
    if topic.name not in admin.partitions([topic.name]):
        with suppress(TopicExistsError):  # another worker was faster
            admin.create_topics([topic])


class RecordTopics:
    """Creates a topic when a task first sends records to it; for one thread (Kafka Connect's `TopicCreation`).

    The first of the groups that fits a topic says how; without groups no topic is created.
    """

    def __init__(
        self, admin: Admin, groups: Sequence[TopicCreationGroup], on_use: Callable[[str], None] = lambda _: None
    ) -> None:
        self._admin, self._groups, self._on_use = admin, groups, on_use
        self._known: set[str] = set()

    def knows(self, topic: str) -> bool:
        """Whether nothing is left to do about a topic."""
        return topic in self._known

    def used(self, topic: str) -> None:
        """Note that records are sent to a topic."""
        self._on_use(topic)

    def ensure(self, topic: str) -> None:
        """Create the topic unless it exists.

        RetriableError if nobody knows yet whether it exists; TaskFailedError, in Kafka Connect's words, if it cannot be
        created.
        """
        if self._groups:
            self._create(topic)
        self._known.add(topic)

    def _create(self, topic: str) -> None:
        group = next(one for one in self._groups if one.matches(topic))
        wanted = NewTopic(topic, group.partitions, group.replication_factor, group.config)
        try:
            ensure_topic(self._admin, wanted)
        except IndefiniteOutcomeError as why:
            # The answer was lost; it is safe to ask again, since a topic that exists is left alone.
            raise RetriableError(str(why)) from why
        except _NOT_ALLOWED as why:
            raise TaskFailedError(f"{_refused(wanted)}: {why}") from why
        except ConfigError as why:
            raise TaskFailedError(f"Unable to create topic(s) '{topic}': {why}") from why
        logger.info("topic %s exists, or was created by the topic creation group %r", topic, group.name)


def timed_out(topic: str) -> str:
    """The message about a topic that could neither be found nor created in time, in Kafka Connect's words."""
    return (
        f"Timed out while checking for or creating topic(s) '{topic}'. This could indicate a connectivity issue, "
        f"unavailable topic partitions, or if this is your first use of the topic it may have taken too long to create."
    )


def _refused(topic: NewTopic) -> str:
    shown = (
        f"(name={topic.name}, numPartitions={topic.partitions}, replicationFactor={topic.replication_factor}, "
        f"configs={dict(topic.config)})"
    )
    return (
        f"Task failed to create new topic {shown}. Ensure that the task is authorized to create topics or that the "
        f"topic exists and restart the task"
    )
