"""The rights that a worker group and one of its connectors need on a cluster (KIP-618, ACL-01..03)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from eosfw.config import Config
from eosfw.config.clients import exactly_once
from eosfw.config.worker import SUPPORT
from eosfw.ids import ConnectorTaskId, leader_transactional_id, task_transactional_id


class Holder(Enum):
    """Whose client needs a right; a connector's clients may have principals of their own."""

    WORKER = "worker"
    PRODUCER = "connector's producer"
    CONSUMER = "connector's consumer"
    ADMIN = "connector's admin client"


class Resource(Enum):
    """Kafka's `ResourceType`, in the words of its command line."""

    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional-id"


@dataclass(frozen=True, slots=True)
class AclBinding:
    """Operations on one resource for one client (Kafka's `AclBinding`)."""

    holder: Holder
    resource: Resource
    name: str
    operations: tuple[str, ...]
    purpose: str
    prefixed: bool = False
    """Whether the name is the beginning of names."""
    only_if_absent: bool = False
    """Whether the right is needed only while the topic does not exist yet."""


def acl_plan(
    worker: Config, connector: Config, topics: Collection[str] = (), *, prefixed: bool = False
) -> list[AclBinding]:
    """The least rights with which the connector runs in this group.

    `topics` are those that it writes records to, beside its property `topic`. With `prefixed` its transactional ids are
    one entry, so that a greater `tasks.max` needs no new right.
    """
    name = connector["name"]
    offsets = connector.given.get("offsets.storage.topic") or worker["offset.storage.topic"]
    own = [topic for topic in (connector.given.get("topic"),) if topic]
    records = list(dict.fromkeys([*own, *topics]))
    ids = _task_ids(worker, connector, prefixed=prefixed) if exactly_once(worker) else []
    return [
        *_worker(worker, offsets),
        *_producer(ids, records, offsets),
        *_consumer(offsets),
        *_admin(ids, records, offsets, name),
    ]


def _task_ids(worker: Config, connector: Config, *, prefixed: bool) -> list[tuple[str, bool]]:
    group, name = worker["group.id"], connector["name"]
    ids = [task_transactional_id(group, ConnectorTaskId(name, number)) for number in range(connector["tasks.max"])]
    return [(ids[0].removesuffix("0"), True)] if prefixed else [(one, False) for one in ids]


def _worker(worker: Config, offsets: str) -> Iterable[AclBinding]:
    group = worker["group.id"]
    if worker[SUPPORT] != "disabled":
        leader = leader_transactional_id(group)
        yield AclBinding(
            Holder.WORKER,
            Resource.TRANSACTIONAL_ID,
            leader,
            ("Write", "Describe"),
            "to lead the group and write its configurations",
        )
    yield AclBinding(Holder.WORKER, Resource.GROUP, group, ("Read",), "to be a member of the group")
    own = {
        worker["config.storage.topic"]: "configurations",
        worker["status.storage.topic"]: "states",
        f"{group}-members": "members and what they run",
    }
    for topic, what in own.items():
        yield AclBinding(Holder.WORKER, Resource.TOPIC, topic, ("Read", "Write"), f"the group's {what}")
    yield from (_creation(Holder.WORKER, topic) for topic in own)
    shared = worker["offset.storage.topic"]
    operations = ("Read",) if shared == offsets else ("Read", "Write")
    yield AclBinding(Holder.WORKER, Resource.TOPIC, shared, operations, "source offsets, shown and kept for the group")
    yield _creation(Holder.WORKER, shared)


def _producer(ids: Sequence[tuple[str, bool]], records: Sequence[str], offsets: str) -> Iterable[AclBinding]:
    for one, prefixed in ids:
        yield AclBinding(
            Holder.PRODUCER, Resource.TRANSACTIONAL_ID, one, ("Write", "Describe"), "a task's transactions", prefixed
        )
    for topic in records:
        yield AclBinding(Holder.PRODUCER, Resource.TOPIC, topic, ("Write",), "records")
    yield AclBinding(Holder.PRODUCER, Resource.TOPIC, offsets, ("Write",), "source offsets, in the same transactions")


def _consumer(offsets: str) -> Iterable[AclBinding]:
    yield AclBinding(Holder.CONSUMER, Resource.TOPIC, offsets, ("Read",), "source offsets, at the start of a task")


def _admin(ids: Sequence[tuple[str, bool]], records: Sequence[str], offsets: str, name: str) -> Iterable[AclBinding]:
    for one, prefixed in ids:
        yield AclBinding(
            Holder.ADMIN, Resource.TRANSACTIONAL_ID, one, ("Write", "Describe"), f"to fence zombies of {name}", prefixed
        )
    for topic in (offsets, *records):
        yield AclBinding(Holder.ADMIN, Resource.TOPIC, topic, ("Describe",), "to see whether the topic exists")
        yield _creation(Holder.ADMIN, topic)


def _creation(holder: Holder, topic: str) -> AclBinding:
    return AclBinding(holder, Resource.TOPIC, topic, ("Create",), "to create the topic", only_if_absent=True)


def merged(bindings: Iterable[AclBinding]) -> list[AclBinding]:
    """One entry for each client and resource, with all its operations: what an administrator grants.

    What is needed only while a topic is absent stays an entry of its own.
    """
    found: dict[tuple[object, ...], AclBinding] = {}
    for one in bindings:
        key = (one.holder, one.resource, one.name, one.prefixed, one.only_if_absent)
        known = found.get(key)
        operations = one.operations if known is None else tuple(dict.fromkeys((*known.operations, *one.operations)))
        found[key] = replace(known or one, operations=operations)
    return list(found.values())
