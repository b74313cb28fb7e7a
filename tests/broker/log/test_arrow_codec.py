"""Records become Arrow columns that hold what they hold as Python objects."""

from __future__ import annotations

import gzip
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.ids import TopicPartition
from eosfw.records import LogBatch, OffsetRange
from eosfw_memory.client.consumer.fetched_records import decode_to_lists
from eosfw_memory.common.log_errors import CorruptMessageError
from eosfw_memory.storage.records.batch import HEADER, read_header
from eosfw_memory.storage.records.codec import encode_batch

from .log_harness import patched, unhurried
from .test_codec import compressed, records

pytest.importorskip("pyarrow")
pytest.importorskip("numpy")

from eosfw_memory.client.consumer.arrow_records import decode_to_columns

WHERE = TopicPartition("t", 3)
ALL = OffsetRange(0, 1 << 40)
GZIP, LOG_APPEND_TIME = 1, 0x08


def visible(*batches: bytes) -> Any:
    return [(read_header(each), memoryview(each)) for each in batches]


def _listed(column: Any) -> Any:
    return column if isinstance(column, list) else column.to_pylist()


def as_lists(found: list[LogBatch]) -> list[tuple[Any, ...]]:
    """Rows in order, with the type of their timestamps."""
    rows: list[tuple[Any, ...]] = []
    for each in found:
        keys, values = _listed(each.keys), _listed(each.values)
        headers = [()] * len(each) if each.headers is None else each.headers
        columns = zip(each.offsets, keys, values, each.timestamps, headers, strict=True)
        rows += [(*row, each.timestamp_type) for row in columns]
    return rows


@st.composite
def batches(draw: st.DrawFn) -> list[bytes]:
    """Batches of a log: some compressed, some with the broker's time, some with offsets that compaction removed."""
    made: list[bytes] = []
    offset = 0
    for rows in draw(st.lists(records, min_size=1, max_size=4)):
        keys, values, times, headers = (list(column) for column in zip(*rows, strict=True))
        batch = encode_batch(keys, values, times, headers=headers)
        attributes = draw(st.sampled_from([0, LOG_APPEND_TIME]))
        if draw(st.booleans()):
            batch, attributes = compressed(batch, GZIP, gzip.compress(batch[HEADER.size :])), attributes | GZIP
        offset += draw(st.sampled_from([0, 1, 1000]))
        made.append(patched(patched(batch, 21, ">h", attributes), 0, ">q", offset))
        offset += len(rows)
    return made


@unhurried
@given(batches(), st.booleans(), st.integers(0, 90), st.integers(0, 90))
def test_arrow_columns_hold_what_lists_hold(made, headers, start, length) -> None:
    for wanted in (ALL, OffsetRange(start, start + length)):
        lists = decode_to_lists(WHERE, visible(*made), wanted, headers=headers)

        arrow = decode_to_columns(WHERE, visible(*made), wanted, headers=headers)

        assert as_lists(arrow) == as_lists(lists)


def test_batches_without_records_are_left_out() -> None:
    emptied = patched(encode_batch(None, [b"v"], 5)[: HEADER.size], 57, ">i", 0)
    emptied = patched(emptied, 8, ">i", HEADER.size - 12)

    assert decode_to_columns(WHERE, visible(emptied), ALL, headers=True) == []
    assert decode_to_columns(WHERE, [], ALL, headers=True) == []


def rows_or_refusal(decode: Any, batch: bytes) -> Any:
    try:
        return as_lists(decode(WHERE, visible(batch), ALL, headers=True))
    except CorruptMessageError:
        return CorruptMessageError


def test_damage_is_refused_wherever_lists_refuse_it() -> None:
    whole = encode_batch([b"k", None], [b"value", b"v"], 5, headers=[(("h", b"x"),), ()])

    for at in range(HEADER.size, len(whole)):
        for byte in (0x00, 0x01, 0x7F, 0xFF):
            damaged = whole[:at] + bytes((byte,)) + whole[at + 1 :]

            assert rows_or_refusal(decode_to_columns, damaged) == rows_or_refusal(decode_to_lists, damaged)


@pytest.mark.parametrize("number", [1, 3, 1 << 30, -1])
def test_a_wrong_number_of_records_is_refused(number) -> None:
    batch = bytearray(encode_batch(None, [b"a", b"b"], 5))
    struct.pack_into(">i", batch, 57, number)

    with pytest.raises(CorruptMessageError):
        decode_to_columns(WHERE, visible(bytes(batch)), ALL, headers=False)
