"""Source offsets have Kafka Connect's bytes, so that a Java worker group and this one read each other's."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.errors import DamagedDataError, TaskFailedError
from eosfw.records import LogBatch

STORE = KafkaOffsetStore()


def committed(*records: tuple[bytes | None, bytes | None], partition: int = 0) -> LogBatch:
    offsets = list(range(7, 7 + len(records)))
    return LogBatch("offs", partition, offsets, [k for k, _ in records], [v for _, v in records], [0] * len(offsets))


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
    """OFF-01, ruling 6: golden bytes."""
    assert encoded({"file": "/a"}, {"at": value}) == (b'["c",{"file":"/a"}]', f'{{"at":{text}}}'.encode())


def test_keys_stay_in_the_order_they_were_given():
    """Ruling 6: insertion order."""
    assert encoded({"b": 1, "a": "x"}, None) == (b'["c",{"b":1,"a":"x"}]', None)


@pytest.mark.parametrize(
    ("partition", "offset", "said"),
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
def test_what_connect_could_not_read_back_is_refused_by_name(partition, offset, said):
    """OFF-01: before anything is written."""
    with pytest.raises(TaskFailedError, match=said):
        STORE.encode("c", "offs", [(partition, offset)])


PRIMITIVES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)
MAPS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), PRIMITIVES, max_size=4)


@given(MAPS, MAPS)
def test_what_was_written_is_read_back(partition, offset):
    """OFF-01."""
    found = STORE.decode("c", [committed(encoded(partition, offset))])
    assert found == {STORE.partition_key(partition): (partition, offset)}


def test_a_later_record_wins_and_null_forgets():
    """OFF-04."""
    a, b = b'["c",{"p":"a"}]', b'["c",{"p":"b"}]'
    found = STORE.decode("c", [committed((a, b'{"o":1}'), (b, b'{"o":1}'), (a, b'{"o":2}')), committed((b, None))])
    assert list(found.values()) == [({"p": "a"}, {"o": 2})]


def test_another_spelling_of_a_partition_is_the_same_partition():
    """OFF-04: order of keys, spaces between them."""
    found = STORE.decode(
        "c", [committed((b'["c", {"y": 1, "x": 2}]', b'{"o": 1}'), (b'["c",{"x":2,"y":1}]', b'{"o":2}'))]
    )
    assert [offset for _, offset in found.values()] == [{"o": 2}]


@pytest.mark.parametrize(
    "key", [None, b"", b"x", b"{}", b'["c"]', b'["c",[1]]', b"[1,{}]", b'["c",{},1]', b'["c",{"p":{}}]', b"\xff"]
)
def test_a_malformed_key_is_skipped(key, caplog):
    """OFF-04, OFF-16, ruling 8: with a warning, but for the migration sentinel of an early draft."""
    with caplog.at_level(logging.WARNING):
        assert STORE.decode("c", [committed((key, b'{"migrated":true}'))]) == {}
    assert bool(caplog.records) is (key != b'["c"]')


def test_offsets_of_other_connectors_are_none_of_ours(caplog):
    """OFF-04: not even when they are damaged."""
    assert STORE.decode("c", [committed((b'["d",{"p":1}]', b"damaged"))]) == {}
    assert not caplog.records


@pytest.mark.parametrize("value", [b"", b"x", b"[1]", b"5", b'{"o":{}}', b"\xff"])
def test_a_malformed_offset_of_our_own_refuses_the_start(value):
    """Ruling 8: from zero would repeat everything; the message says where to look."""
    with pytest.raises(DamagedDataError, match="topic offs, partition 3, offset 7"):
        STORE.decode("c", [committed((b'["c",{"p":1}]', value), partition=3)])
