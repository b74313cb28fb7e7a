"""What consumer groups know of the cluster's topics. Kafka's `TopicsImage`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple, Protocol
from uuid import UUID


class TopicImage(NamedTuple):
    """One topic."""

    topic_id: UUID
    partitions: int


class TopicsImage(Protocol):
    """All topics."""

    @property
    def version(self) -> int:
        """Another number after every change."""

    def topic(self, name: str) -> TopicImage | None:
        """A topic, if it exists."""

    def name(self, topic_id: UUID) -> str | None:
        """The name of a topic, if it exists."""

    def names(self) -> Iterable[str]:
        """The names of all topics."""


def metadata_hash(topics: TopicsImage, names: Iterable[str]) -> int:
    """A number of 64 bits that changes whenever one of these topics does; 0 if none of them exists.

    Kafka takes another hash, XXH3: a Kafka that reads such a log begins one more rebalance, and changes nothing by it.
    """
    hasher, found = hashlib.blake2b(digest_size=8), False
    for name in sorted(names):
        topic = topics.topic(name)
        if topic is not None:
            found = True
            hasher.update(topic.topic_id.bytes + topic.partitions.to_bytes(4, "big"))
    return int.from_bytes(hasher.digest(), "big", signed=True) if found else 0
