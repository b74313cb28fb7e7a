"""Creation of topics that do not exist yet (Kafka Connect's `TopicAdmin`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from eosfw.errors import TopicExistsError
from eosfw.protocols import Admin, NewTopic

COMPACTED: Mapping[str, str] = {"cleanup.policy": "compact"}


def ensure_topic(admin: Admin, topic: NewTopic) -> None:
    """Create a topic unless it exists."""
    if topic.name not in admin.partitions([topic.name]):
        with suppress(TopicExistsError):  # another worker was faster
            admin.create_topics([topic])


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
