"""The headers of a column are encoded as those of each record alone, whatever stands next to what."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eosfw.records import Headers
from eosfw_memory.storage.records.headers import encoded_alone, encoded_headers

ONE = st.tuples(st.sampled_from(["", "a", "é"]), st.none() | st.binary(max_size=2))
COLUMN = st.lists(st.lists(ONE, max_size=3).map(tuple), max_size=6)


@given(COLUMN)
def test_headers_in_a_column_are_encoded_like_single_headers(column: list[Headers]) -> None:
    """KIP-98's message format: a number of headers, then name and value of each."""
    assert list(encoded_headers(column)) == [encoded_alone(headers) for headers in column]


def test_encoded_headers_have_the_recorded_bytes() -> None:
    """Zigzag varints: lengths are doubled, null is -1."""
    assert encoded_alone(()) == b"\0"
    assert encoded_alone((("a", b"xy"), ("b", None))) == b"\x04\x02a\x04xy\x02b\x01"
