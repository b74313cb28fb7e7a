"""Source offsets have Kafka Connect's bytes, so that a Java worker group and this one read each other's."""

from __future__ import annotations

import json
import logging
from enum import IntEnum
from types import SimpleNamespace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.builtin import connect_json
from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.errors import DamagedDataError, TaskFailedError
from eosfw.records import LogBatch

STORE = KafkaOffsetStore()
DEEP = b"[" * 100_000
LARGE = b'"' + b"x" * 10_000_000 + b'"'


PRIMITIVES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)
MAPS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), PRIMITIVES, max_size=4)


def committed(*records: tuple[bytes | None, bytes | None], partition: int = 0, timestamp: int = 0) -> LogBatch:
    offsets = list(range(7, 7 + len(records)))
    keys, values = [key for key, _ in records], [value for _, value in records]
    return LogBatch("offs", partition, offsets, keys, values, [timestamp] * len(offsets))


def encoded(partition, offset):
    (record,) = STORE.encode("c", "offs", [(partition, offset)])
    return record.key, record.value


# Written by the JsonConverter's own Jackson 2.19.0 (Kafka 4.1.1).
GOLDEN = [
    ('a\x1f\U0001f600é/\x7f\u2028"\\\b', '"a\\u001F\\uD83D\\uDE00é/\x7f\u2028\\"\\\\\\b"'),
    (0.0, "0.0"),
    (-0.0, "-0.0"),
    (0.1, "0.1"),
    (1e-3, "0.001"),
    (0.00099, "9.9E-4"),
    (9999999.0, "9999999.0"),
    (1e7, "1.0E7"),
    (123456789.125, "1.23456789125E8"),
    (12345678.9, "1.23456789E7"),
    (1e22, "1.0E22"),
    (-2.5e-10, "-2.5E-10"),
    (1.7976931348623157e308, "1.7976931348623157E308"),
    (5, "5"),
    (2**40, "1099511627776"),
    (True, "true"),
    (None, "null"),
]


@pytest.mark.parametrize(("value", "text"), GOLDEN)
def test_offsets_have_the_bytes_of_connects_json_converter(value, text):
    """OFF-01: a Java worker must find the keys and values that it would have written itself."""
    assert encoded({"file": "/a"}, {"at": value}) == (b'["c",{"file":"/a"}]', f'{{"at":{text}}}'.encode())


class _Range:
    """64-bit numbers; Python's `range` looks through all of them for a number that is no plain int."""

    def __contains__(self, value):
        assert type(value) is int
        return -(2**63) <= value < 2**63


def test_an_offset_of_an_own_type_of_numbers_has_the_bytes_of_the_number(monkeypatch):
    """An IntEnum, say, or a position with methods."""
    monkeypatch.setattr(connect_json, "LONG", _Range())
    numbers = IntEnum("Number", {"MANY": 2**40})

    assert encoded({"a": 1}, {"next": numbers(2**40)})[1] == b'{"next":1099511627776}'


def test_an_offset_stays_in_the_order_it_was_given():
    """OFF-01: JsonConverter keeps a map's own order, and values are never compared."""
    assert encoded({"p": 1}, {"b": 1, "a": "x"}) == (b'["c",{"p":1}]', b'{"b":1,"a":"x"}')


@given(st.data())
def test_equal_source_partitions_have_one_record_key_in_any_order(data):
    """OFF-01: compaction would keep both offsets otherwise, and a restart take either."""
    items = sorted(data.draw(MAPS).items())
    shuffled = dict(data.draw(st.permutations(items)))

    assert encoded(shuffled, None) == encoded(dict(items), None)


def test_a_new_source_partition_is_written_in_the_order_of_its_names():
    """OFF-01: the bytes of JsonConverter for a map in that order."""
    assert encoded({"b": 1, "a": "x"}, None) == (b'["c",{"a":"x","b":1}]', None)


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        ({}, {"o": float("nan")}, "'o' is nan"),
        ({}, {"o": float("inf")}, "'o' is inf"),
        ({}, {"o": 2**63}, "64-bit"),
        ({}, {"o": {}}, "is a dict"),
        ({}, {"o": [1]}, "is a list"),
        ({}, {"o": b"x"}, "is a bytes"),
        ({}, {1: 1}, "key 1 is no text"),
        ({}, {"o": "\ud800"}, "half a character"),
        ({}, "text", "no mapping"),
        ({"p": object()}, {}, "source partition"),
    ],
)
def test_an_offset_that_connect_cannot_read_is_refused_by_name(partition, offset, message):
    """OFF-01: before anything is written."""
    with pytest.raises(TaskFailedError, match=message):
        STORE.encode("c", "offs", [(partition, offset)])


def test_a_partition_that_no_key_can_hold_is_refused_when_a_task_asks_for_its_offset():
    """OFF-01: a task asks before it gives a record."""
    with pytest.raises(TaskFailedError, match=r"^source partition \{'id': UUID\(.*\)\} cannot be stored: .*UUID"):
        STORE.partition_key({"id": UUID(int=7)})


@given(MAPS, MAPS)
def test_written_offsets_are_read_back(partition, offset):
    """OFF-01."""
    found = STORE.decode("c", [committed(encoded(partition, offset))])
    assert found == {STORE.partition_key(partition): (partition, offset)}


# Two keys that Kafka Connect writes for one source partition, with spaces as another tool might.
YX, XY = b'["c", {"y": 1, "x": 2}]', b'["c",{"x":2,"y":1}]'


def restated(batches, offset):
    """What is written when the one source partition of these batches moves on."""
    ((partition, _),) = STORE.decode("c", batches).values()
    return [(record.key, record.value) for record in STORE.encode("c", "offs", [(partition, offset)])]


@pytest.mark.parametrize("key", [YX, XY])
def test_an_existing_offset_key_is_written_again_byte_for_byte(key):
    """OFF-01: only so does compaction remove what a Java worker group wrote."""
    assert restated([committed((key, b'{"o":1}'))], {"o": 2}) == [(key, b'{"o":2}')]
    assert restated([committed((key, b'{"o":1}'))], None) == [(key, None)]


@pytest.mark.parametrize("late_first", [False, True])
def test_of_two_keys_for_one_partition_the_later_statement_counts(late_first, caplog):
    """OFF-04: they lie in different partitions of the topic, which may be read in any order."""
    early = committed((YX, b'{"o":1}'), partition=1, timestamp=1_000)
    late = committed((XY, b'{"o":2}'), partition=2, timestamp=2_000)

    found = STORE.decode("c", [late, early] if late_first else [early, late])

    assert [offset for _, offset in found.values()] == [{"o": 2}]
    assert "two record keys" in caplog.text
    assert "partition 1, offset 7" in caplog.text


def test_the_next_commit_leaves_one_of_two_keys():
    """OFF-01: the other is forgotten in the same transaction."""
    early = committed((YX, b'{"o":1}'), partition=1, timestamp=1_000)
    late = committed((XY, b'{"o":2}'), partition=2, timestamp=2_000)

    assert restated([late, early], {"o": 3}) == [(XY, b'{"o":3}'), (YX, None)]
    assert restated([late, early], None) == [(XY, None), (YX, None)]


@pytest.mark.parametrize("null", [None, b"null"])
@pytest.mark.parametrize("null_first", [False, True])
def test_a_tombstone_removes_only_the_offset_of_its_key(null_first, null):
    """OFF-04: read in any order, as Kafka Connect holds it; a partition that came back under another key stays."""
    gone, back = committed((YX, b'{"o":1}'), (YX, null), partition=1), committed((XY, b'{"o":5}'), partition=2)

    found = STORE.decode("c", [gone, back] if null_first else [back, gone])

    assert [offset for _, offset in found.values()] == [{"o": 5}]


@pytest.mark.parametrize(
    "key",
    [
        None,
        b"",
        b"x",
        b"{}",
        b'["c"',
        b'["c"]',
        b'["c",[1]]',
        b"[1,{}]",
        b'["c",{},1]',
        b'["c",{"p":{}}]',
        b'["c",{"p":',
        b"\xff",
        b"evil\nline",
        DEEP,
        LARGE,
    ],
    ids=lambda key: repr(key)[:30],
)
def test_a_malformed_key_is_skipped(key, caplog):
    """OFF-04, OFF-16: with a warning of one short line, but for the migration sentinel of an early draft."""
    with caplog.at_level(logging.WARNING):
        found = STORE.decode("c", [committed((XY, b'{"o":7}'), (key, b'{"migrated":true}'))])

    assert [offset for _, offset in found.values()] == [{"o": 7}]
    assert bool(caplog.records) is (key != b'["c"]')
    assert all(len(line) < 500 and "\n" not in line for line in caplog.messages)


@pytest.mark.parametrize(
    "value",
    [b"", b"x", b"[1]", b"5", b'{"o":{}}', b'{"schema":{},"payload":{}}', b"\xff", DEEP, LARGE],
    ids=lambda value: repr(value)[:30],
)
def test_a_malformed_offset_of_our_own_refuses_the_start(value):
    """From zero would repeat everything; the message says where to look, in one short line."""
    with pytest.raises(DamagedDataError, match="topic offs, partition 3, offset 7") as refused:
        STORE.decode("c", [committed((b'["c",{"p":1}]', value), partition=3)])

    assert len(str(refused.value)) < 700
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["c", "b-1", "é", 'with "quotes"'])
def test_offsets_of_other_connectors_are_passed_over_unread(name, monkeypatch):
    """A task that starts reads the topic of the whole group: what is not its own costs it no parsing."""
    parsed = []

    def loads(data):
        parsed.append(data)
        return json.loads(data)

    monkeypatch.setattr("eosfw.builtin.offset_store.json", SimpleNamespace(loads=loads, dumps=json.dumps))
    others = [STORE.encode(f"c{number}", "offs", [({"file": "x"}, {"at": number})])[0] for number in range(500)]
    (own,) = STORE.encode(name, "offs", [({"file": "x"}, {"at": 1})])

    found = STORE.decode(name, [committed(*[(one.key, one.value) for one in [*others, own]])])

    assert list(found.values()) == [({"file": "x"}, {"at": 1})]
    assert parsed == [own.key, own.value]
