"""What Python's data can hold and Java's cannot is refused, with the field."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.builtin.converters.byte_array import ByteArrayConverter
from eosfw.builtin.converters.json import JsonConverter
from eosfw.builtin.converters.string import StringConverter

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
DATA = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
)


def without_schemas() -> JsonConverter:
    converter = JsonConverter()
    converter.configure(JsonConverter.config.parse({"schemas.enable": "false"}))
    return converter


@given(DATA)
def test_json_reads_back_as_it_was(data: Any):
    """By the fast way for flat mappings as by the other."""
    written = without_schemas().from_connect_data("t", None, data)

    assert written is None if data is None else json.loads(written or b"") == data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": {"b": [1, date(2026, 1, 1)]}}, "field 'a.b.1' is a date; JsonConverter takes mappings"),
        ({"a": 2**63}, "field 'a' is 9223372036854775808, which no 64-bit number can hold"),
        (2**63, "it is 9223372036854775808, which no 64-bit number can hold"),
        ({"a": "\ud83d"}, "field 'a': text holds half a character"),
        ({"\ud83d": 1}, "it: text holds half a character"),
        ({1, 2}, "it is a set"),
    ],
)
def test_json_names_the_field_that_it_cannot_write(data: Any, message: str):
    with pytest.raises((TypeError, ValueError)) as refused:
        without_schemas().from_connect_data("t", None, data)

    assert message in str(refused.value)


def test_json_refuses_data_that_holds_itself():
    """It says so, rather than run out of stack."""
    data: list[Any] = []
    data.append(data)

    with pytest.raises(ValueError, match="nested more than 200 levels deep"):
        without_schemas().from_connect_data("t", None, data)


def test_text_and_bytes_name_what_they_take():
    string = StringConverter()
    string.configure(StringConverter.config.parse({}))

    assert string.from_connect_data("t", None, b"as it is") == b"as it is"
    with pytest.raises(TypeError, match="takes text, numbers, booleans and bytes, not dict: choose json"):
        string.from_connect_data("t", None, {})
    with pytest.raises(TypeError, match="takes bytes, not str"):
        ByteArrayConverter().from_connect_data("t", None, "text")
    assert ByteArrayConverter().from_connect_data("t", None, bytearray(b"a")) == b"a"
