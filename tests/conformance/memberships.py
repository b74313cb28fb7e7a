"""Which members may commit offsets of a group, by group state, request and claimed identity (KIP-447, GRP-02)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from broker.groups.group_requests import Member as Client
from broker.groups.group_requests import Raw
from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code

from . import broker_state
from .calls import NO_MEMBER, Answer, Caller, Member, commit_plain

_INSTANCE, _OTHERS = "the-instance", "another-instance"
_STRANGER = Member("nobody-we-know", 3)
_BEFORE, _NOW = 5, 7


@dataclass(slots=True)
class Group:
    """One group of one cell: its name, its clients, the client under test."""

    servers: str
    name: str
    where: TopicPartition
    clients: list[Client] = field(default_factory=list)
    about: Member = _STRANGER

    def client(self, instance: str | None = None) -> Client:
        """A client that has not joined yet."""
        self.clients.append(Client(Raw(self.servers), self.name, instance))
        return self.clients[-1]

    def member(self, instance: str | None = None, *, synced: bool = True) -> Client:
        """The client under test, joined as the only member."""
        client = self.client(instance)
        client.join()
        if synced:
            client.sync({client.member_id: b"all"})
        self.about = Member(client.member_id, client.generation, instance)
        return client


State = Callable[[Caller, Group], None]


def _unknown(caller: Caller, group: Group) -> None:
    """The group does not exist."""


def _offsets_alone(caller: Caller, group: Group) -> None:
    assert commit_plain(caller, group.name, group.where, _BEFORE).code is Code.NONE


def _left(caller: Caller, group: Group) -> None:
    group.member().leave()


def _completing(caller: Caller, group: Group) -> None:
    group.member(synced=False)


def _stable(caller: Caller, group: Group) -> None:
    group.member()


def _static(caller: Caller, group: Group) -> None:
    group.member(_INSTANCE)


def _replaced(caller: Caller, group: Group) -> None:
    """A static member came back under a new member id; the old one goes on."""
    group.member(_INSTANCE)
    group.client(_INSTANCE).join()


def _preparing(caller: Caller, group: Group) -> None:
    """A second member is joining."""
    group.member()
    newcomer = group.client()
    newcomer.send_join()
    caller.until(lambda: group.clients[0].heartbeat() == Code.REBALANCE_IN_PROGRESS)


STATES: Mapping[str, State] = {
    "unknown": _unknown,
    "Empty, offsets alone": _offsets_alone,
    "Empty, all left": _left,
    "CompletingRebalance": _completing,
    "Stable": _stable,
    "Stable, static": _static,
    "Stable, static replaced": _replaced,
    "PreparingRebalance": _preparing,
}
RELATIONS: Mapping[str, Callable[[Member], Member]] = {
    "nobody": lambda _: NO_MEMBER,
    "member": lambda who: who,
    "generation before": lambda who: replace(who, generation=who.generation - 1),
    "generation ahead": lambda who: replace(who, generation=who.generation + 1),
    "no generation": lambda who: replace(who, generation=-1),
    "no member id": lambda who: replace(who, member_id=""),
    "another member": lambda who: replace(who, member_id="somebody-else"),
    "another instance": lambda who: replace(who, instance=_OTHERS),
    "no instance": lambda who: replace(who, instance=None),
    "instance alone": lambda who: Member("", -1, who.instance or _OTHERS),
}


def _plain(version: int) -> Callable[[Caller, Group, Member], Answer]:
    return lambda caller, group, who: commit_plain(caller, group.name, group.where, _NOW, version, who)


def _in_transaction(version: int) -> Callable[[Caller, Group, Member], Answer]:
    def commit(caller: Caller, group: Group, who: Member) -> Answer:
        name = f"{group.name}-writer"
        producer = caller.init(name).producer
        assert version >= 5 or caller.add_offsets(name, producer, group.name).code is Code.NONE
        answered = caller.commit_offsets(name, producer, group.name, group.where, version, offset=_NOW, member=who)
        pending = broker_state.group_offset(caller, group.name, group.where, stable=True)
        if broker_state.transaction(caller, name).state == "Ongoing":
            assert caller.end(name, producer, 4).code is Code.NONE
            caller.settled(name)
        return replace(answered, shown=f"stable {pending.name if isinstance(pending, Code) else pending}")

    return commit


REQUESTS: Mapping[str, Callable[[Caller, Group, Member], Answer]] = {
    "OffsetCommit 7": _plain(7),
    "OffsetCommit 9": _plain(9),
    "TxnOffsetCommit 3": _in_transaction(3),
    "TxnOffsetCommit 5": _in_transaction(5),
}


def answers(caller: Caller) -> Iterator[tuple[str, str]]:
    """What a broker says to each cell, by its name."""
    topic = f"groups-{uuid.uuid4().hex[:8]}"
    caller.create(topic, 1)
    for state, drive in STATES.items():
        for request, ask in REQUESTS.items():
            for relation, whom in RELATIONS.items():
                group = Group(caller.servers, f"g-{uuid.uuid4().hex}", TopicPartition(topic, 0))
                drive(caller, group)
                answered = ask(caller, group, whom(group.about))
                after = broker_state.group_offset(caller, group.name, group.where, stable=False)
                yield f"{state} | {request} | {relation}", f"{answered.code.name} {answered.shown}; group {after}"
                for client in group.clients:
                    client.raw.close()
