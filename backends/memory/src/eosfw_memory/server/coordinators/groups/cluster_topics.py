"""Show consumer groups the topics of this broker."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from eosfw_memory.server.coordinators.groups.modern.topics_image import TopicImage
from eosfw_memory.storage.topics.topic import Topics


class ClusterTopics:
    """The broker's topics, as `TopicsImage`."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    @property
    def version(self) -> int:
        return self._topics.version

    def topic(self, name: str) -> TopicImage | None:
        topic = self._topics.by_name(name)
        return None if topic is None else TopicImage(topic.topic_id, len(topic.partitions))

    def name(self, topic_id: UUID) -> str | None:
        topic = self._topics.by_id(topic_id)
        return None if topic is None else topic.name

    def names(self) -> Iterable[str]:
        return (topic.name for topic in self._topics)
