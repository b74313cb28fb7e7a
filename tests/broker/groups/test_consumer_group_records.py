"""Consumer groups are written as Kafka 4.1.1 wrote them."""

from __future__ import annotations

from uuid import UUID

import pytest

from eosfw.errors import DamagedDataError
from eosfw_memory.server.coordinators.groups.group_records import read_key
from eosfw_memory.server.coordinators.groups.modern.changes import (
    Change,
    ChangeKind,
    GroupMetadata,
    PartitionMetadata,
    ResolvedRegularExpression,
    TargetAssignment,
    TargetAssignmentMetadata,
    put,
)
from eosfw_memory.server.coordinators.groups.modern.consumer_group_records import (
    ConsumerGroupKey,
    change_key,
    change_value,
    read_change,
)
from eosfw_memory.server.coordinators.groups.modern.member import (
    ClassicMemberMetadata,
    CurrentAssignment,
    MemberMetadata,
    MemberState,
)

TOPIC = UUID("518af4cc-a418-447a-aad7-a54583705f7d")
ID = TOPIC.bytes
GROUP = "c8b128"
KAFKAS_GROUP_METADATA = b'\x00\x00\x00\x00\x00\x01\x01\x00\x08\xbd\xcd$"\x18\xb66{'

# Read from the log of a real Kafka 4.1.1, to which a test had sent heartbeats of two members.
KAFKAS = [
    (
        put(
            MemberMetadata(
                instance_id="i-a",
                rack_id="r",
                client_id="raw",
                client_host="/127.0.0.1",
                topic_names=frozenset({GROUP}),
                rebalance_timeout_ms=60_000,
                server_assignor="range",
            ),
            "m-a",
        ),
        b"\x00\x05\x00\x06c8b128\x00\x03m-a",
        b"\x00\x00\x04i-a\x02r\x04raw\x0b/127.0.0.1\x02\x07c8b128\x01\x00\x00\xea`\x06range\x01\x00\x01\x00",
    ),
    (
        put(
            MemberMetadata(client_id="raw", client_host="/127.0.0.1", topic_regex="c.*", rebalance_timeout_ms=60_000),
            "m-b",
        ),
        b"\x00\x05\x00\x06c8b128\x00\x03m-b",
        b"\x00\x00\x00\x00\x04raw\x0b/127.0.0.1\x01\x04c.*\x00\x00\xea`\x00\x01\x00\x01\x00",
    ),
    (put(GroupMetadata(1, -4770116701453404549)), b"\x00\x03\x00\x06c8b128", KAFKAS_GROUP_METADATA),
    (
        put(TargetAssignment({TOPIC: frozenset({0, 1})}), "m-a"),
        b"\x00\x07\x00\x06c8b128\x00\x03m-a",
        b"\x00\x00\x02" + ID + b"\x03\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00",
    ),
    (put(TargetAssignmentMetadata(1)), b"\x00\x06\x00\x06c8b128", b"\x00\x00\x00\x00\x00\x01\x00"),
    (
        put(
            CurrentAssignment(1, 1, MemberState.UNREVOKED_PARTITIONS, {TOPIC: frozenset({0})}, {TOPIC: frozenset({1})}),
            "m-a",
        ),
        b"\x00\x08\x00\x06c8b128\x00\x03m-a",
        b"\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x01\x02"
        + ID
        + b"\x02\x00\x00\x00\x00\x00\x02"
        + ID
        + b"\x02\x00\x00\x00\x01\x00\x00",
    ),
    (
        put(ResolvedRegularExpression(frozenset({GROUP, "cap848"}), 111, 1_795_867_786_686), "c.*"),
        b"\x00\x10\x00\x06c8b128\x00\x03c.*",
        b'\x00\x00\x03\x07c8b128\x07cap848\x00\x00\x00\x00\x00\x00\x00o\x00\x00\x01\xa2"\x0f\xbd\xbe\x00',
    ),
    (Change(ChangeKind.CURRENT_MEMBER_ASSIGNMENT, "m-b"), b"\x00\x08\x00\x06c8b128\x00\x03m-b", None),
    (Change(ChangeKind.REGULAR_EXPRESSION, "c.*"), b"\x00\x10\x00\x06c8b128\x00\x03c.*", None),
]
IDS = [key[:2].hex() + ("" if value else "-tombstone") for _, key, value in KAFKAS]


@pytest.mark.parametrize(("change", "key", "value"), KAFKAS, ids=IDS)
def test_a_change_has_kafkas_bytes(change, key, value):
    """GRP-05."""
    assert change_key(GROUP, change) == key
    assert change_value(change) == value


@pytest.mark.parametrize(("change", "key", "value"), KAFKAS, ids=IDS)
def test_a_record_of_kafka_can_be_read(change, key, value):
    found = read_key(key)

    assert found == ConsumerGroupKey(GROUP, change.kind, change.name)
    assert read_change(found, value) == change


def test_what_kafka_kept_before_4_1_of_topics_is_known_to_be_there():
    """Kafka 4.0 wrote names and sizes of topics: 4.1 removes them at the next occasion."""
    key = read_key(b"\x00\x04\x00\x01g")

    assert read_change(key, b"\x00\x00\x02" + ID + b"\x02t\x00\x00\x00\x01\x01\x00\x00") == put(PartitionMetadata())


def test_a_truncated_record_is_a_damage_error():
    """What is missing is never guessed."""
    key = ConsumerGroupKey(GROUP, ChangeKind.MEMBER_METADATA, "m-a")
    for cut in range(2, len(KAFKAS[0][2]) - 4, 5):
        with pytest.raises(DamagedDataError, match="member metadata of consumer group 'c8b128'"):
            read_change(key, KAFKAS[0][2][:cut])


def test_a_value_of_a_newer_broker_is_refused_by_name():
    key = ConsumerGroupKey(GROUP, ChangeKind.GROUP_METADATA, "")

    with pytest.raises(DamagedDataError, match="newer broker"):
        read_change(key, b"\x00\x01" + KAFKAS_GROUP_METADATA[2:])


def test_a_member_of_the_classic_protocol_has_kafkas_bytes():
    """GRP-05: what it said when it joined, as Kafka 4.1.1 logged it when a test had a group upgraded."""
    subscription = b"\x00\x02\x00\x00\x00\x01\x00\nt-82eef880\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff"
    member = MemberMetadata(
        client_id="raw",
        client_host="/127.0.0.1",
        topic_names=frozenset({"t-82eef880"}),
        rebalance_timeout_ms=60_000,
        classic=ClassicMemberMetadata(10_000, (("range", subscription),)),
    )
    kafkas = (
        b"\x00\x00\x00\x00\x04raw\x0b/127.0.0.1\x02\x0bt-82eef880\x01\x00\x00\xea`\x00"
        b"\x01\x00-\x01\x00\x00'\x10\x02\x06range\x1f" + subscription + b"\x00\x00"
    )
    change = put(member, "m")

    assert change_value(change) == kafkas
    assert read_change(ConsumerGroupKey(GROUP, change.kind, "m"), kafkas) == change
    for cut in (len(kafkas) - 5, len(kafkas) - len(subscription)):
        with pytest.raises(DamagedDataError, match="member metadata"):
            read_change(ConsumerGroupKey(GROUP, change.kind, "m"), kafkas[:cut])
