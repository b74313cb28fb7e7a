"""Create the topics of one request in slices, so that the broker serves other requests between them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from eosfw_memory.common.codes import KafkaError
from eosfw_memory.storage.topics.topic import NewTopic, Topic, Topics

MAX_PARTITIONS_PER_REQUEST: Final = 10_000
"""As in Kafka's controller."""
_PARTITIONS_PER_SLICE: Final = 128
"""Some milliseconds, in memory as in files."""

Created: TypeAlias = "dict[str, Topic | KafkaError]"
"""Each topic, or the error for it, by its name."""


def create_in_slices(topics: Topics, wanted: Iterable[NewTopic]) -> Generator[None, None, Created]:
    """Create topics with different names, yielding between slices."""
    created: Created = {}
    for some in _slices(wanted):
        if created:
            yield
        created.update(zip((each.name for each in some), topics.create_each(some), strict=True))
    return created


def first_of(wanted: Iterable[NewTopic]) -> Iterator[NewTopic]:
    """The first topics, up to as many as one request may create."""
    partitions = 0
    for each in wanted:
        partitions += each.partitions
        if partitions > MAX_PARTITIONS_PER_REQUEST:
            break
        yield each


def _slices(wanted: Iterable[NewTopic]) -> Iterator[Sequence[NewTopic]]:
    some: list[NewTopic] = []
    partitions = 0
    for each in wanted:
        if some and partitions + each.partitions > _PARTITIONS_PER_SLICE:
            yield some
            some, partitions = [], 0
        some.append(each)
        partitions += each.partitions
    if some:
        yield some
