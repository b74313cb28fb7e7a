"""Requests of consumer groups, with the rights of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eosfw_memory.client.transport.apis import Fields, milliseconds

from ..calls import Caller
from .asking import Place, Request, asked, codes, commit, member, of_a_group

_JOIN = {
    "session_timeout": milliseconds(10),
    "rebalance_timeout": milliseconds(10),
    "protocol_type": "consumer",
    "protocols": [Fields(name="range", metadata=b"")],
}


def _offset_fetch(place: Place, topic: str) -> Mapping[str, Any]:
    wanted = [Fields(name=topic, partition_indexes=[0])]
    return {"groups": [Fields(group_id=place.group, topics=wanted)], "require_stable": False}


def _all_offsets(place: Place, topic: str) -> Mapping[str, Any]:
    return {"groups": [Fields(group_id=place.group, topics=None)], "require_stable": False}


def _offsets_shown(answer: Any, place: Place) -> str:
    [group] = answer["groups"]
    return f"{codes(answer)}, {len(group['topics'])} topics"


def _groups_shown(answer: Any, place: Place) -> str:
    found = [each["group_id"] for each in answer["groups"]]
    return f"{codes(answer)} {'listed' if place.group in found else 'not listed'}"


def _group_operations(answer: Any, place: Place) -> str:
    [found] = answer["groups"]
    return f"{codes(answer)} {found['authorized_operations']}"


def _consumer_heartbeat(place: Place, topic: str) -> Mapping[str, Any]:
    return {
        "group_id": place.group,
        "member_id": "one",
        "member_epoch": 0,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout": milliseconds(10),
        "subscribed_topic_names": [topic],
        "subscribed_topic_regex": None,
        "server_assignor": None,
        "topic_partitions": (),
    }


def _describe_consumers(caller: Caller, place: Place, topic: str) -> Any:
    """The group has a member with a partition of the topic."""
    place.admin.until(lambda: _assigned(place, topic))
    return caller.ask(69, 1, group_ids=[place.group], include_authorized_operations=False)


def _assigned(place: Place, topic: str) -> bool:
    """The coordinator of a real Kafka may learn of the topic a little later."""
    answer = place.admin.ask(68, 1, **_consumer_heartbeat(place, topic))
    return answer["assignment"] is not None and bool(answer["assignment"]["topic_partitions"])


def _members_shown(answer: Any, place: Place) -> str:
    [found] = answer["groups"]
    return f"{codes(answer)}, {len(found['members'])} members"


REQUESTS: Mapping[str, Request] = {
    "OffsetCommit 8": Request(asked(8, 8, commit), ("READ GROUP", "READ TOPIC"), absent=True),
    "OffsetFetch 8": Request(
        of_a_group(9, 8, _offset_fetch), ("DESCRIBE GROUP", "DESCRIBE TOPIC"), _offsets_shown, absent=True
    ),
    "OffsetFetch 8, all": Request(of_a_group(9, 8, _all_offsets), ("DESCRIBE GROUP", "DESCRIBE TOPIC"), _offsets_shown),
    "JoinGroup 7": Request(asked(11, 7, lambda place, _: member(place, **_JOIN)), ("READ GROUP",)),
    "Heartbeat 4": Request(asked(12, 4, lambda place, _: member(place)), ("READ GROUP",)),
    "LeaveGroup 4": Request(
        asked(
            13,
            4,
            lambda place, _: {
                "group_id": place.group,
                "members": [Fields(member_id="nobody", group_instance_id=None)],
            },
        ),
        ("READ GROUP",),
    ),
    "SyncGroup 5": Request(
        asked(
            14,
            5,
            lambda place, _: member(place, protocol_type="consumer", protocol_name="range", assignments=()),
        ),
        ("READ GROUP",),
    ),
    "DescribeGroups 5": Request(
        asked(15, 5, lambda place, _: {"groups": [place.group], "include_authorized_operations": False}),
        ("DESCRIBE GROUP",),
    ),
    "DescribeGroups 5, operations": Request(
        of_a_group(15, 5, lambda place, _: {"groups": [place.group], "include_authorized_operations": True}),
        ("READ GROUP", "ALTER_CONFIGS GROUP"),
        _group_operations,
    ),
    "ListGroups 4": Request(of_a_group(16, 4, lambda *_: {"states_filter": ()}), ("DESCRIBE GROUP",), _groups_shown),
    "ListGroups 4, by the cluster": Request(
        of_a_group(16, 4, lambda *_: {"states_filter": ()}), ("DESCRIBE CLUSTER",), _groups_shown
    ),
    "DeleteGroups 2": Request(of_a_group(42, 2, lambda place, _: {"groups_names": [place.group]}), ("DELETE GROUP",)),
    "OffsetDelete 0": Request(
        of_a_group(
            47,
            0,
            lambda place, topic: {
                "group_id": place.group,
                "topics": [Fields(name=topic, partitions=[Fields(partition_index=0)])],
            },
        ),
        ("DELETE GROUP", "READ TOPIC"),
        absent=True,
    ),
    "ConsumerGroupHeartbeat 1": Request(
        asked(68, 1, _consumer_heartbeat), ("READ GROUP", "DESCRIBE TOPIC"), absent=True
    ),
    "ConsumerGroupDescribe 1": Request(_describe_consumers, ("DESCRIBE GROUP", "DESCRIBE TOPIC"), _members_shown),
}
