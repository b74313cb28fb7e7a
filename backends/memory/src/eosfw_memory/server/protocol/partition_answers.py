"""The parts of answers that have something for each partition of each topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from eosfw_memory.common.delayed_operation import Answer


def each_partition(topics: Iterable[Any], partitions: str, answer: Callable[[str, Any], object]) -> list[Answer]:
    """The topics of a request in their order, with the answer for each of their partitions."""
    return [
        {"name": topic.name, "partitions": [answer(topic.name, each) for each in getattr(topic, partitions)]}
        for topic in topics
    ]


def by_topic(
    answers: Iterable[tuple[str, object]], topic: str = "name", partitions: str = "partitions"
) -> list[Answer]:
    """Answers for partitions, put together by topic."""
    found: dict[str, list[object]] = {}
    for name, answer in answers:
        found.setdefault(name, []).append(answer)
    return [{topic: name, partitions: each} for name, each in found.items()]
