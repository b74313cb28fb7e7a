"""Share partitions among the members of a group so that as few as possible move (Kafka's `CooperativeStickyAssignor`).

A partition that moves is first taken from its owner alone: the owner joins again once it has given it up, and the next
generation gives it to its new owner (KIP-429). So no two members ever own one partition at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from eosfw.ids import TopicPartition
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import Subscription

NAME: Final = "cooperative-sticky"
Subscriptions: TypeAlias = Mapping[str, Subscription]
"""The subscription of each member by its id."""
_Shares: TypeAlias = dict[str, set[TopicPartition]]


def assign(partition_counts: Mapping[str, int], members: Subscriptions) -> Mapping[str, frozenset[TopicPartition]]:
    """What each member gets in this generation, of topics with so many partitions."""
    owners = _owners(partition_counts, members)
    shares: _Shares = {member: set() for member in sorted(members)}
    for one, owner in owners.items():
        shares[owner].add(one)
    for one in _all_partitions(partition_counts):
        taker = None if one in owners else _least_loaded(one, shares, members)
        if taker is not None:
            shares[taker].add(one)
    while _move_one(shares, members):
        pass
    return {
        member: frozenset(one for one in own if owners.get(one, member) == member) for member, own in shares.items()
    }


def _owners(partition_counts: Mapping[str, int], members: Subscriptions) -> Mapping[TopicPartition, str]:
    """Who owned each partition in the newest generation; nobody where two members of that generation claim it."""
    claims: dict[TopicPartition, list[tuple[int, str]]] = {}
    for member, subscription in members.items():
        for one in subscription.owned:
            if one.topic in subscription.topics and one.partition < partition_counts.get(one.topic, 0):
                claims.setdefault(one, []).append((subscription.generation, member))
    newest = {one: [name for at, name in each if at == max(each)[0]] for one, each in claims.items()}
    return {one: names[0] for one, names in newest.items() if len(names) == 1}


def _all_partitions(partition_counts: Mapping[str, int]) -> list[TopicPartition]:
    return [
        TopicPartition(topic, number) for topic, count in sorted(partition_counts.items()) for number in range(count)
    ]


def _least_loaded(partition: TopicPartition, shares: _Shares, members: Subscriptions) -> str | None:
    able = [member for member in shares if partition.topic in members[member].topics]
    return min(able, key=lambda member: len(shares[member]), default=None)


def _move_one(shares: _Shares, members: Subscriptions) -> bool:
    """Move a partition to a member that has at least two less than its owner; False once there is none."""
    for giver in sorted(shares, key=lambda member: -len(shares[member])):
        for one in sorted(shares[giver]):
            taker = _least_loaded(one, shares, members)
            if taker is not None and len(shares[taker]) + 1 < len(shares[giver]):
                shares[giver].remove(one)
                shares[taker].add(one)
                return True
    return False
