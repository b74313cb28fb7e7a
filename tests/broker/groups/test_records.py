"""Groups with their offsets are written as Kafka 4.1.1 wrote them; what it wrote long ago can be read."""

from __future__ import annotations

import struct

import pytest

from eosfw.errors import DamagedDataError
from eosfw.ids import TopicPartition
from eosfw_memory.server.coordinators.groups.group_records import (
    Committed,
    GroupKey,
    OffsetKey,
    group_key,
    group_value,
    offset_key,
    offset_value,
    read_group,
    read_key,
    read_offset,
)
from eosfw_memory.server.coordinators.groups.membership.group import Group
from eosfw_memory.server.coordinators.groups.membership.group_state import GroupState
from eosfw_memory.server.coordinators.groups.membership.members import Member

KEY = OffsetKey("g", TopicPartition("rt", 0))
MEMBER_ID = "inst-1f29ca89-09bf-4de0-a980-3450fc087d35"
SUBSCRIPTION = b"\x00\x03\x00\x00\x00\x01\x00\x02rt\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00"
ASSIGNMENT = b"\x00\x00\x00\x00\x00\x01\x00\x02rt\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"

# Read from the log of a real Kafka 4.1.1, which a consumer of librdkafka had used.
KAFKAS_KEY = b"\x00\x01\x00\x01g\x00\x02rt\x00\x00\x00\x00"
KAFKAS_OFFSET = b"\x00\x04\x00\x00\x00\x00\x00\x00\x00\x05\xff\xff\xff\xff\x06meta\x00\x00\x00\x01\xa1\xfe*\xed\xca\x00"
KAFKAS_NEW_GROUP = b"\x00\x03\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x01\xa1\xfe*\xed\x16\x00\x00\x00\x00"
KAFKAS_EMPTY_GROUP = (
    b"\x00\x03\x00\x08consumer\x00\x00\x00\x02\xff\xff\xff\xff\x00\x00\x01\xa1\xfe+\x05<\x00\x00\x00\x00"
)
KAFKAS_GROUP = (
    b"\x00\x03\x00\x08consumer\x00\x00\x00\x01\x00\x05range\x00)inst-1f29ca89-09bf-4de0-a980-3450fc087d35\x00\x00\x01"
    b"\xa1\xfe*\xedB\x00\x00\x00\x01\x00)inst-1f29ca89-09bf-4de0-a980-3450fc087d35\x00\x04inst\x00\x02cl\x00\n/127.0.0.1"
    b"\x00\x04\x93\xe0\x00\x00\x17p\x00\x00\x00\x18\x00\x03\x00\x00\x00\x01\x00\x02rt\x00\x00\x00\x00\x00\x00\x00\x00"
    b"\xff\xff\xff\xff\x00\x00\x00\x00\x00\x16\x00\x00\x00\x00\x00\x01\x00\x02rt\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"
    b"\x00\x00"
)


def group(*members: Member, generation: int, protocol: str | None, leader: str | None) -> Group:
    made = Group("g", 0)
    for member in members:
        made.add(member, "consumer")
    made.protocol_type, made.protocol_name, made.leader = "consumer", protocol, leader
    made.generation = generation
    return made


@pytest.fixture
def stable():
    member = Member(MEMBER_ID, "inst", "cl", "/127.0.0.1", 6_000, 300_000, (("range", SUBSCRIPTION),))
    return group(member, generation=1, protocol="range", leader=MEMBER_ID)


def test_keys_have_kafkas_bytes():
    assert offset_key(*KEY) == KAFKAS_KEY
    assert read_key(KAFKAS_KEY) == KEY
    assert group_key("simple") == b"\x00\x02\x00\x06simple"
    assert read_key(b"\x00\x02\x00\x06simple") == GroupKey("simple")
    assert read_key(b"\x00\x00" + KAFKAS_KEY[2:]) == KEY


def test_an_offset_record_has_kafkas_bytes():
    committed = Committed(5, -1, "meta\0", int.from_bytes(b"\x01\xa1\xfe*\xed\xca", "big"))

    assert offset_value(committed) == KAFKAS_OFFSET
    assert read_offset(KEY, KAFKAS_OFFSET) == committed


def test_a_group_record_has_kafkas_bytes(stable):
    now_ms = int.from_bytes(b"\x01\xa1\xfe*\xedB", "big")

    assert group_value(stable, {MEMBER_ID: ASSIGNMENT}, now_ms) == KAFKAS_GROUP


def test_a_record_of_an_empty_group_has_kafkas_bytes():
    new = int.from_bytes(b"\x01\xa1\xfe*\xed\x16", "big")
    emptied = int.from_bytes(b"\x01\xa1\xfe+\x05<", "big")

    assert group_value(Group("g", 0), {}, new) == KAFKAS_NEW_GROUP
    assert group_value(group(generation=2, protocol=None, leader=None), {}, emptied) == KAFKAS_EMPTY_GROUP


def test_a_group_record_of_kafka_can_be_read():
    found = read_group("g", KAFKAS_GROUP)

    member = found.members[MEMBER_ID]
    assert (found.generation, found.protocol_name, found.leader) == (1, "range", MEMBER_ID)
    assert found.static_members == {"inst": MEMBER_ID}
    assert (member.client_id, member.client_host) == ("cl", "/127.0.0.1")
    assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (6_000, 300_000)
    assert (member.metadata("range"), member.assignment) == (SUBSCRIPTION, ASSIGNMENT)
    assert (read_group("g", KAFKAS_EMPTY_GROUP).state, read_group("g", KAFKAS_NEW_GROUP).protocol_type) == (
        GroupState.EMPTY,
        None,
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (struct.pack(">hqh4sq", 0, 9, 4, b"text", 7), Committed(9, -1, "text", 7)),
        (struct.pack(">hqh4sqq", 1, 9, 4, b"text", 7, 8), Committed(9, -1, "text", 7, 8)),
        (struct.pack(">hqh4sq", 2, 9, 4, b"text", 7), Committed(9, -1, "text", 7)),
        (struct.pack(">hqih4sq", 3, 9, 2, 4, b"text", 7), Committed(9, 2, "text", 7)),
    ],
)
def test_offsets_of_older_versions_can_be_read(value, expected):
    assert read_offset(KEY, value) == expected


def test_an_offset_that_says_when_it_ends_is_written_as_kafka_does():
    expiring = Committed(9, -1, "text", 7, 8)

    assert offset_value(expiring) == struct.pack(">hqh4sqq", 1, 9, 4, b"text", 7, 8)


def test_a_key_of_unknown_version_is_ignored():
    assert read_key(b"\x00\x09\x00\x01g") is None


def test_a_truncated_group_record_is_a_damage_error():
    """What is missing is never guessed."""
    for cut in range(2, len(KAFKAS_GROUP) - 1, 7):
        with pytest.raises(DamagedDataError, match="group 'g'"):
            read_group("g", KAFKAS_GROUP[:cut])


def test_a_value_of_a_newer_broker_is_refused_by_name():
    with pytest.raises(DamagedDataError, match="newer broker"):
        read_offset(KEY, b"\x00\x05" + KAFKAS_OFFSET[2:])
    with pytest.raises(DamagedDataError, match="newer broker"):
        read_group("g", b"\x00\x09")


@pytest.mark.parametrize("damaged", [b"", b"\x00", KAFKAS_KEY[:5], b"\x00\x01\xff\xff"])
def test_an_unreadable_key_is_a_damage_error(damaged):
    with pytest.raises(DamagedDataError, match="key"):
        read_key(damaged)
