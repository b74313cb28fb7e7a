"""Records that are alike are read as a whole, to the same columns as number by number."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eosfw.records import Headers
from eosfw_memory.storage.records import codec
from eosfw_memory.storage.records.batch import HEADER, read_header
from eosfw_memory.storage.records.uniform_records import read_uniform_records

VALUES = st.lists(st.none() | st.binary(max_size=300), min_size=9, max_size=40)
LAST = st.none() | st.binary(max_size=200)
FRONT = st.lists(st.tuples(st.text(max_size=3), LAST), max_size=2)


def columns(batch: bytes) -> tuple[object, ...]:
    found = codec.decode_records(batch)
    return found.offsets, found.timestamps, found.keys, found.values, found.headers


@given(VALUES, FRONT, st.text(max_size=3), st.data(), st.booleans())
def test_fast_and_slow_decoding_give_the_same_columns(values, front, name, data, with_headers) -> None:
    headers: list[Headers] | None = None
    if with_headers:
        headers = [(*front, (name, data.draw(LAST))) for _ in values]
    batch = codec.encode_batch(None, values, 1_000, headers=headers)
    raw = codec._Raw()
    codec._read_records(batch[HEADER.size :], len(values), raw)
    slow = codec._columns(raw, read_header(batch))

    assert columns(batch) == (slow.offsets, slow.timestamps, slow.keys, slow.values, slow.headers)


def test_uniform_records_of_one_task_are_read_in_one_pass() -> None:
    headers: list[Headers] = [(("connector", b"c"), ("offset", b"%d" % n)) for n in range(2000)]
    batch = codec.encode_batch(None, [b"v%d" % n for n in range(2000)], 5, headers=headers)

    assert read_uniform_records(batch[HEADER.size :], 2000, headers[0]) == ([b"v%d" % n for n in range(2000)], headers)


def test_records_that_are_not_uniform_need_the_general_decoder() -> None:
    keyed = codec.encode_batch([b"k"] * 9, [b"v"] * 9, 5)
    timed = codec.encode_batch(None, [b"v"] * 9, [5, 6] + [7] * 7)

    assert read_uniform_records(keyed[HEADER.size :], 9, ()) is None
    assert read_uniform_records(timed[HEADER.size :], 9, ()) is None
    assert read_uniform_records(b"\0" * 7, 1_000_000_000, ()) is None
