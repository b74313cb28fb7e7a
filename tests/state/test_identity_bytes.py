"""The bytes that identify a record are canonical JSON, however they are made."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from eosfw.identity import IdentityHeaders

PRIMITIVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4)
NAMES = st.text(max_size=3)


def canonical(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode(errors="surrogatepass")


def column(offsets: list[dict[str, Any]]) -> list[bytes | None]:
    return [headers[-1][1] for headers in IdentityHeaders("c").column([{"p": 1}] * len(offsets), offsets)]


@given(st.lists(st.dictionaries(NAMES, PRIMITIVES, max_size=3), min_size=1, max_size=5))
@example([{"n": 1, "a": 1}, {"n": 2, "a": True}])
@example([{"n": 1, "a": 0.0}, {"n": 2, "a": -0.0}])
@example([{"n": 1, "%d": "%s"}, {"n": 2, "%d": "%s"}])
@example([{"n": 1}, {"n": 2, "a": None}])
@example([{"n": 1, "a": 7}, {"m": 1, "a": 8}])
def test_each_of_many_is_encoded_as_it_would_be_alone(offsets: list[dict[str, Any]]) -> None:
    assert column(offsets) == [canonical(offset) for offset in offsets]


@given(st.dictionaries(NAMES, PRIMITIVES, max_size=3), NAMES, st.lists(st.integers(), min_size=2, max_size=9))
def test_offsets_that_differ_in_one_number_are_encoded_alike(
    shared: dict[str, Any], name: str, numbers: list[int]
) -> None:
    offsets = [{**shared, name: number} for number in numbers]

    assert column(offsets) == [canonical(offset) for offset in offsets]
