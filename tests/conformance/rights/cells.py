"""Ask each request as principals that have all of its rights, lack a single one, or have none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from authorized_kafka import ADMIN, CELL_USERS, credentials
from eosfw.concurrency import ThreadRuntime
from eosfw.config.security import security_settings
from eosfw.ids import TopicPartition
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.client.transport.channel_builder import ChannelBuilder
from eosfw_memory.client.transport.sockets import SocketNetwork
from eosfw_memory.common.codes import Code
from real_kafka import INTERNAL_PARTITIONS

from ..calls import WAIT, Caller
from .asking import Place
from .requests import REQUESTS

_CREATE_TOPICS, _CREATE_ACLS, _DESCRIBE_ACLS = 19, 30, 29
_TYPES: Final = {"TOPIC": 2, "GROUP": 3, "CLUSTER": 4, "TRANSACTIONAL_ID": 5}
_OPERATIONS: Final = {
    "READ": 3,
    "WRITE": 4,
    "CREATE": 5,
    "DELETE": 6,
    "ALTER": 7,
    "DESCRIBE": 8,
    "CLUSTER_ACTION": 9,
    "DESCRIBE_CONFIGS": 10,
    "ALTER_CONFIGS": 11,
    "IDEMPOTENT_WRITE": 12,
}
_LITERAL, _ALLOW = 3, 3


@dataclass(frozen=True, slots=True)
class Cell:
    """One request, what its client has, and whether the topic exists."""

    request: str
    rights: Sequence[str]
    case: str
    absent: bool = False

    @property
    def key(self) -> str:
        return f"{self.request} | {self.case}"


def cells() -> Iterator[Cell]:
    """Every cell."""
    for name, request in REQUESTS.items():
        needs = tuple(request.needs)
        yield Cell(name, needs, "all rights")
        for missing in needs:
            yield Cell(name, tuple(each for each in needs if each != missing), f"without {missing}")
        if len(needs) > 1:
            yield Cell(name, (), "without any")
        if request.absent:
            yield Cell(name, needs, "no such topic", absent=True)
            yield Cell(name, (), "no such topic, without any", absent=True)


def answers(servers: str) -> Iterator[tuple[Cell, str]]:
    """Ask every cell; each has a principal, a topic, a group and a transactional id of its own."""
    every = list(cells())
    users = CELL_USERS[: len(every)]
    admin = caller_of(servers, ADMIN)
    places = [Place(user, admin) for user in users]
    _create_topics(admin, places)
    for name in map(str, range(INTERNAL_PARTITIONS)):  # one for each partition of the coordinators' topics
        admin.warm_up(name, _partition(places[0]))
    _grant(admin, every, places)
    for cell, place in zip(every, places, strict=True):
        caller = caller_of(servers, place.principal)
        request = REQUESTS[cell.request]
        topic = f"{place.topic}-absent" if cell.absent else place.topic
        yield cell, request.shown(request.ask(caller, place, topic), place)
        caller.close()
    admin.close()


def caller_of(servers: str, user: str) -> Caller:
    """A connection that is authenticated as a user."""
    builder = ChannelBuilder(security_settings(credentials(user)))
    return Caller(servers, SocketNetwork(servers, "rights", WAIT, ThreadRuntime(), builder))


def nested(found: Mapping[Cell, str]) -> dict[str, dict[str, str]]:
    """Answers by request, by case."""
    table: dict[str, dict[str, str]] = {}
    for cell, answer in found.items():
        table.setdefault(cell.request, {})[cell.case] = answer
    return table


def _partition(place: Place) -> TopicPartition:
    return TopicPartition(place.topic, 0)


def _create_topics(admin: Caller, places: Sequence[Place]) -> None:
    names = [place.topic for place in places]
    wanted = [Fields(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=()) for name in names]
    admin.ask(_CREATE_TOPICS, 5, topics=wanted, timeout=milliseconds(WAIT), validate_only=False)
    for name in names:
        admin.wait_until_led(name, 1)


def _grant(admin: Caller, every: Sequence[Cell], places: Sequence[Place]) -> None:
    creations = [_acl(right, cell, place) for cell, place in zip(every, places, strict=True) for right in cell.rights]
    answer = admin.ask(_CREATE_ACLS, 3, creations=creations)
    assert {each["error_code"] for each in answer["results"]} == {Code.NONE}
    # The controller has answered; the broker, whose own authorizer is asked here, may still have to read some of them.
    for principal, wanted in Counter(each.principal for each in creations).items():
        admin.until(partial(_knows, admin, principal, wanted))


def _knows(admin: Caller, principal: str, rights: int) -> bool:
    """Whether the broker has all rights of a principal."""
    answer = admin.ask(
        _DESCRIBE_ACLS,
        3,
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=principal,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    return sum(len(each["acls"]) for each in answer["resources"]) == rights


def _acl(right: str, cell: Cell, place: Place) -> Fields:
    operation, _, kind = right.partition(" ")
    topic = f"{place.topic}-absent" if cell.absent else place.topic
    created = f"{topic}-new" if cell.request.startswith("CreateTopics") else topic
    names = {"TOPIC": created, "GROUP": place.group, "CLUSTER": "kafka-cluster", "TRANSACTIONAL_ID": place.name}
    return Fields(
        resource_type=_TYPES[kind],
        resource_name=names[kind],
        resource_pattern_type=_LITERAL,
        principal=f"User:{place.principal}",
        host="*",
        operation=_OPERATIONS[operation],
        permission_type=_ALLOW,
    )
