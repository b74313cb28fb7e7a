"""The hash of a batch tells other content from the same content in another order."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from eosfw_spark.sink.content_hash import combine, hash_rows

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("value", pa.binary()),
        ("partition", pa.int32()),
        ("headers", HEADERS),
        ("timestamp", pa.timestamp("us", tz="UTC")),
    ]
)
rows = st.fixed_dictionaries(
    {
        "key": st.none() | st.text(),
        "value": st.none() | st.binary(),
        "partition": st.none() | st.integers(0, 100),
        "headers": st.none()
        | st.lists(st.fixed_dictionaries({"key": st.text(), "value": st.none() | st.binary()}), max_size=2),
        "timestamp": st.none() | st.integers(0, 2**52),
    }
)


def batch(given: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(given, SCHEMA)


def values(*texts: bytes | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"key": pa.nulls(len(texts), pa.binary()), "value": pa.array(texts, pa.binary())})


@given(
    st.lists(rows, max_size=8).flatmap(lambda all_: st.tuples(st.just(all_), st.permutations(all_))), st.integers(0, 8)
)
def test_order_and_division_of_rows_do_not_count(two: tuple[list[Any], list[Any]], cut: int) -> None:
    one, other = two

    assert hash_rows(batch(one)) == (hash_rows(batch(other[:cut])) + hash_rows(batch(other[cut:]))) % 2**64


@given(st.lists(rows, min_size=1, max_size=5), rows)
def test_another_row_is_another_content(given_rows: list[Any], other: Any) -> None:
    changed = [other, *given_rows[1:]]

    assert (hash_rows(batch(given_rows)) == hash_rows(batch(changed))) == (given_rows[0] == other)


def test_null_and_empty_values_differ() -> None:
    assert hash_rows(values(None)) != hash_rows(values(b""))


def test_values_that_swap_keys_are_another_content() -> None:
    def pairs(*of: tuple[str, str]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"key": [key for key, _ in of], "value": [value for _, value in of]})

    assert hash_rows(pairs(("a", "1"), ("b", "2"))) != hash_rows(pairs(("a", "2"), ("b", "1")))


def test_hash_of_known_rows_stays_the_same_across_versions() -> None:
    """Tokens outlive an upgrade of this package."""
    assert combine([hash_rows(values(b"one", b"two", None))], 3).hash == "0000000102df41ad"
