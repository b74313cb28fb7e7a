"""Creation of topics that do not exist yet (Kafka Connect's `TopicAdmin`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from eosfw.errors import TopicExistsError
from eosfw.protocols import Admin, NewTopic

COMPACTED: Mapping[str, str] = {"cleanup.policy": "compact"}


def ensure_topic(admin: Admin, topic: NewTopic) -> int:
    """Create a topic unless it exists; return how many partitions it has."""
    found = admin.partitions([topic.name]).get(topic.name)
    if found is not None:
        return found
    try:
        admin.create_topics([topic])
    except TopicExistsError:
        return admin.partitions([topic.name]).get(topic.name, topic.partitions)
    return topic.partitions


class RecordTopics:
    """Creates a topic when a task first sends records to it; for one thread (Kafka Connect's `TopicCreation`)."""

    def __init__(
        self, admin: Admin, partitions: int, replication_factor: int, on_use: Callable[[str], None] = lambda _: None
    ) -> None:
        self._admin, self._on_use = admin, on_use
        self._shape = (partitions, replication_factor)
        self._known: set[str] = set()

    def ensure(self, topic: str) -> None:
        """Create the topic unless it exists."""
        if topic not in self._known:
            ensure_topic(self._admin, NewTopic(topic, *self._shape))
            self._known.add(topic)
        self._on_use(topic)
