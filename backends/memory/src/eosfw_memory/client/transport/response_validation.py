"""Find what an answer lacks of its request: a missing part would pass for success."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from eosfw.ids import TopicPartition
from eosfw_memory.client.transport.apis import (
    ADD_PARTITIONS,
    CREATE_TOPICS,
    DESCRIBE_CONFIGS,
    DESCRIBE_PRODUCERS,
    DESCRIBE_TRANSACTIONS,
    FIND_COORDINATOR,
    LIST_OFFSETS,
    OFFSET_FETCH,
    TXN_OFFSET_COMMIT,
    WRITE_TXN_MARKERS,
    Api,
    Fields,
)
from eosfw_memory.common.delayed_operation import Answer


@dataclass(frozen=True, slots=True)
class _Rule:
    requested: Callable[[Any], Iterable[object]]
    answered: Callable[[Any], Iterable[object]]


def find_missing(api: Api, request: Fields, answer: Answer) -> object | None:
    """Something of the request that the answer lacks, or None.

    Produce is not checked here, since its sender accounts for each batch; nor is Fetch, whose answer may leave out
    partitions without new records.
    """
    rule = _RULES.get(api.key)
    # An answer to FindCoordinator of before version 4 has no list: it is about its only key.
    only_key = api is FIND_COORDINATOR and "coordinators" not in answer
    if rule is None or only_key:
        return None
    answered = frozenset(rule.answered(answer))
    return next((one for one in rule.requested(request) if one not in answered), None)


def _numbers(one: Any) -> Iterable[int]:
    """The partition numbers of one topic in a request, which are plain or fields of structures."""
    if hasattr(one, "partition_indexes"):
        return one.partition_indexes  # type: ignore[no-any-return]
    return (each if isinstance(each, int) else each.partition_index for each in one.partitions)


def _requested(topics: Iterable[Any]) -> Iterable[TopicPartition]:
    return (TopicPartition(topic.name, number) for topic in topics for number in _numbers(topic))


def _answered(topics: Iterable[Any], inside: str = "partitions") -> Iterable[TopicPartition]:
    return (TopicPartition(topic["name"], each["partition_index"]) for topic in topics for each in topic[inside])


def _marked(answer: Any) -> Iterable[TopicPartition]:
    return (where for marker in answer["markers"] for where in _answered(marker["topics"]))


_PARTITIONS: Final = _Rule(lambda request: _requested(request.topics), lambda answer: _answered(answer["topics"]))
_RULES: Final[Mapping[int, _Rule]] = {
    LIST_OFFSETS.key: _PARTITIONS,
    DESCRIBE_PRODUCERS.key: _PARTITIONS,
    TXN_OFFSET_COMMIT.key: _PARTITIONS,
    ADD_PARTITIONS.key: _Rule(
        lambda request: _requested(request.get("v3_and_below_topics", ())),  # only brokers use version 4 and later
        lambda answer: _answered(answer.get("results_by_topic_v3_and_below", ()), "results_by_partition"),
    ),
    WRITE_TXN_MARKERS.key: _Rule(
        lambda request: (where for marker in request.markers for where in _requested(marker.topics)), _marked
    ),
    CREATE_TOPICS.key: _Rule(
        lambda request: (topic.name for topic in request.topics),
        lambda answer: (topic["name"] for topic in answer["topics"]),
    ),
    OFFSET_FETCH.key: _Rule(
        lambda request: (group.group_id for group in request.groups),
        lambda answer: (group["group_id"] for group in answer["groups"]),
    ),
    DESCRIBE_CONFIGS.key: _Rule(
        lambda request: (each.resource_name for each in request.resources),
        lambda answer: (each["resource_name"] for each in answer["results"]),
    ),
    DESCRIBE_TRANSACTIONS.key: _Rule(
        lambda request: request.transactional_ids,
        lambda answer: (each["transactional_id"] for each in answer["transaction_states"]),
    ),
    FIND_COORDINATOR.key: _Rule(
        lambda request: request.coordinator_keys,
        lambda answer: (each["key"] for each in answer["coordinators"]),
    ),
}
