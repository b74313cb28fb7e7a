"""Describe a group through librdkafka's admin client."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient

from eosfw.ids import TopicPartition
from eosfw.protocols import GroupDescription, MemberDescription

_CONSUMER: Final = "consumer"
_STATES: Mapping[ConsumerGroupState, str] = {
    ConsumerGroupState.STABLE: "Stable",
    ConsumerGroupState.PREPARING_REBALANCING: "PreparingRebalance",
    ConsumerGroupState.COMPLETING_REBALANCING: "CompletingRebalance",
    ConsumerGroupState.EMPTY: "Empty",
    ConsumerGroupState.DEAD: "Dead",
}


def consumer_group_description(found: Any) -> GroupDescription:
    """A group of consumers, from the answer of `describe_consumer_groups`."""
    protocol_type = "" if found.is_simple_consumer_group else _CONSUMER
    members = tuple(_member(each) for each in found.members)
    state = _STATES.get(found.state, found.state.name.capitalize())
    return GroupDescription(found.group_id, state, protocol_type, members)


def other_group_description(client: AdminClient, group_id: str, timeout: float) -> GroupDescription:
    """A group that consists of no consumers, which only librdkafka's older call describes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"list_groups\(\) is deprecated", DeprecationWarning)
        found: Any = client.list_groups(group_id, timeout=timeout)
    for group in found:
        members = tuple(MemberDescription(each.id, each.client_id, _host(each.client_host)) for each in group.members)
        return GroupDescription(group_id, group.state, group.protocol_type, members)
    return GroupDescription(group_id, "Dead")


def _member(found: Any) -> MemberDescription:
    owned = frozenset(TopicPartition(one.topic, one.partition) for one in found.assignment.topic_partitions)
    return MemberDescription(found.member_id, found.client_id, _host(found.host), owned)


def _host(text: str) -> str:
    """Kafka shows a host with a slash before it."""
    return text.removeprefix("/")
