"""What cells have for themselves, and how a request is asked with and without its rights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.common.codes import Code

from ..calls import WAIT, Caller, offsets_of

TIMEOUT = {"timeout": milliseconds(WAIT)}


@dataclass(frozen=True)
class Place:
    """What one cell has for itself: a topic, a name that no topic has, a group, a transactional id."""

    principal: str
    admin: Caller

    @cached_property
    def topic(self) -> str:
        return f"{self.principal}-topic"

    @cached_property
    def group(self) -> str:
        return f"{self.principal}-group"

    @cached_property
    def name(self) -> str:
        return f"{self.principal}-id"

    @cached_property
    def producer(self) -> ProducerIdAndEpoch:
        """Whoever holds the id, as the administrator took it."""
        return self.admin.init(self.name).producer


Ask = Callable[[Caller, Place, str], Any]
"""Sends a request about a topic; gives the answer."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of one version."""

    ask: Ask
    needs: Sequence[str]
    """Operation and resource type, as in `READ TOPIC`, of all that it needs at once."""
    shown: Callable[[Any, Place], str] = lambda answer, _: codes(answer)
    absent: bool = False
    """Whether it is also asked about a topic that does not exist."""


def codes(answer: Any) -> str:
    """The error codes of an answer, the outer ones first."""
    return " ".join(Code(code).name for code in _codes(answer))


def _codes(answer: Any) -> Iterator[int]:
    if isinstance(answer, Mapping):
        yield from (value for name, value in answer.items() if name.endswith("error_code"))
        for value in answer.values():
            yield from _codes(value)
    elif isinstance(answer, list | tuple):
        for each in answer:
            yield from _codes(each)


def asked(key: int, version: int, fields: Callable[[Place, str], Mapping[str, Any]]) -> Ask:
    return lambda caller, place, topic: caller.ask(key, version, **fields(place, topic))


def offsets_of_topic(topic: str) -> list[Fields]:
    """Offset 1 of partition 0."""
    return offsets_of(TopicPartition(topic, 0), 1)


def metadata(topics: list[Fields] | None, *, create: bool = False, operations: bool = False) -> Mapping[str, Any]:
    return {
        "topics": topics,
        "allow_auto_topic_creation": create,
        "include_topic_authorized_operations": operations,
        "include_cluster_authorized_operations": operations,
    }


def commit(place: Place, topic: str) -> Mapping[str, Any]:
    return {
        "group_id": place.group,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "group_instance_id": None,
        "topics": offsets_of_topic(topic),
    }


def committed(place: Place) -> None:
    """Let the group have an offset."""
    place.admin.ask(8, 8, **commit(place, place.topic))


def of_a_group(key: int, version: int, fields: Callable[[Place, str], Mapping[str, Any]]) -> Ask:
    def ask(caller: Caller, place: Place, topic: str) -> Any:
        committed(place)
        return caller.ask(key, version, **fields(place, topic))

    return ask


def topic_of(place: Place, topic: str) -> str:
    return topic


def named(answer: Any, place: Place) -> str:
    [found] = answer.get("responses") or answer["topics"]
    return f"{codes(answer)} {'named' if found['name'] else 'not named'}"


def transaction(place: Place, **more: Any) -> Mapping[str, Any]:
    producer = place.producer
    return {
        "transactional_id": place.name,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        **more,
    }


def member(place: Place, **more: Any) -> Mapping[str, Any]:
    return {"group_id": place.group, "member_id": "", "generation_id": 1, "group_instance_id": None, **more}


def add_partitions(place: Place, topic: str) -> Mapping[str, Any]:
    return {
        "v3_and_below_transactional_id": place.name,
        "v3_and_below_producer_id": place.producer.producer_id,
        "v3_and_below_producer_epoch": place.producer.epoch,
        "v3_and_below_topics": [Fields(name=topic, partitions=[0])],
    }
