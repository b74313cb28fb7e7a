"""What Python's data can hold and Java's cannot is refused, with the field."""

from __future__ import annotations

import json
import struct as binary
from datetime import date
from decimal import Decimal
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.builtin.converters import json as json_converter
from eosfw.builtin.converters.byte_array import ByteArrayConverter
from eosfw.builtin.converters.json import JsonConverter
from eosfw.builtin.converters.primitives import PRIMITIVE_CONVERTERS, PrimitiveConverter
from eosfw.builtin.converters.simple_header import SimpleHeaderConverter
from eosfw.builtin.converters.string import StringConverter
from eosfw.data import FLOAT32, INT32, STRING, Schema, SchemaAndValue, decimal, fitted, map_of, struct
from eosfw.errors import ConfigError, DataError

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
        ({"a": {"b": [1, date(2026, 1, 1)]}}, "field 'a.b.1' is a date; without a schema JsonConverter takes mappings"),
        ({"a": 2**63}, "field 'a' is a number beyond 64 bits"),
        (2**63, "it is a number beyond 64 bits"),
        ({"a": "\ud83d"}, "field 'a': text holds half a character"),
        ({"\ud83d": 1}, "it: text holds half a character"),
        ({1, 2}, "it is a set"),
    ],
)
def test_json_names_the_field_that_it_cannot_write(data: Any, message: str):
    with pytest.raises(DataError) as refused:
        without_schemas().from_connect_data("t", None, data)

    assert message in str(refused.value)


def test_json_writes_a_number_of_an_own_type(monkeypatch: pytest.MonkeyPatch):
    """An IntEnum, say: Python's `range` looks through all 64-bit numbers for a number that is no plain int."""
    asked: list[type] = []
    every = type("Every", (), {"__contains__": lambda _, value: not asked.append(type(value))})
    monkeypatch.setattr(json_converter, "LONG", every())
    numbers = IntEnum("Number", {"MANY": 2**40})

    assert without_schemas().from_connect_data("t", None, [numbers(2**40)]) == b"[1099511627776]"
    assert asked == [int]


def test_json_refuses_data_that_holds_itself():
    """It says so, rather than run out of stack."""
    data: list[Any] = []
    data.append(data)

    with pytest.raises(DataError, match="nested more than 200 levels deep"):
        without_schemas().from_connect_data("t", None, data)


def test_text_and_bytes_name_what_they_take():
    string = StringConverter()
    string.configure(StringConverter.config.parse({}))

    assert string.from_connect_data("t", None, b"as it is") == b"as it is"
    with pytest.raises(DataError, match="takes text, numbers, booleans and bytes, not dict: choose json"):
        string.from_connect_data("t", None, {})
    with pytest.raises(DataError, match="not compatible with objects of type str"):
        ByteArrayConverter().from_connect_data("t", None, "text")
    assert ByteArrayConverter().from_connect_data("t", None, bytearray(b"a")) == b"a"


def string(encoding: str = "utf-8") -> StringConverter:
    converter = StringConverter()
    converter.configure(StringConverter.config.parse({"converter.encoding": encoding}))
    return converter


@pytest.mark.parametrize(
    ("schema", "value", "written"),
    [(FLOAT32, fitted(FLOAT32, 0.1), b"0.1"), (None, 0.1, b"0.1"), (decimal(2), Decimal("-0.00"), b"0.00")],
)
def test_text_of_numbers_is_javas(schema: Schema | None, value: Any, written: bytes) -> None:
    """CNV-05: a FLOAT32 has the digits of its 32 bits."""
    assert string().from_connect_data("t", schema, value) == written


def test_a_character_that_cannot_be_written_is_not_shown() -> None:
    """CNV-05: neither with an encoding, nor in a header, which names itself."""
    with pytest.raises(DataError, match=r"^it is text whose character 3 cannot be written in iso8859-1$"):
        string("latin-1").from_connect_data("t", STRING, "ab\u20ac")
    with pytest.raises(DataError, match=r"^header 'h': it is text whose character 1 cannot be written in utf-8$"):
        SimpleHeaderConverter().from_connect_header("t", "h", STRING, "\ud83d")
    with pytest.raises(DataError, match=r"^header 'h': Failed to serialize unexpected value type set$"):
        SimpleHeaderConverter().from_connect_header("t", "h", None, [{1}])


def test_headers_nested_too_deeply_are_refused_or_bytes() -> None:
    """CNV-03: Java would run out of stack, too."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DataError, match=r"^header 'h': it is nested too deeply$"):
        SimpleHeaderConverter().from_connect_header("t", "h", None, deep)
    assert SimpleHeaderConverter().to_connect_header("t", "h", b"[" * 100_000).value == b"[" * 100_000


@pytest.mark.parametrize("kind", PRIMITIVE_CONVERTERS)
def test_a_column_with_an_odd_value_is_written_or_refused_as_the_value_is(kind: Any) -> None:
    """CNV-04: a boolean is no number; a refusal shows no value."""
    converter: PrimitiveConverter = kind()
    for odd in ("canary", 2**70, -(2**70), True, 1.5, 7, date(2026, 1, 1), Decimal("1.5")):
        column = [fitted(kind.schema, kind.python_type(0)), odd]
        by_itself, by_columns = _outcome(converter, column, "value"), _outcome(converter, column, "columns")
        if isinstance(by_itself, list):
            assert by_columns == by_itself
        else:
            assert not isinstance(by_columns, list)
            assert kind.name in by_itself.lower()
            assert str(odd) not in by_itself


def _outcome(converter: PrimitiveConverter, column: list[Any], how: str) -> list[bytes | None] | str:
    try:
        if how == "columns":
            return list(converter.from_connect_columns("t", None, column))
        return [converter.from_connect_data("t", None, one) for one in column]
    except (DataError, binary.error) as why:  # of columns any exception means that each value is looked at
        return str(why)


def test_a_schema_of_another_type_is_refused_for_columns_too() -> None:
    """CNV-04: in the words of Kafka Connect."""
    for kind in PRIMITIVE_CONVERTERS:
        with pytest.raises(DataError, match=r"\(was STRING\)|BooleanConverter: STRING"):
            kind().from_connect_columns("t", STRING, ["canary"])


POINTS = struct({"points": map_of(STRING, struct({"x": INT32}))})
REFUSED: list[tuple[Schema, str, str]] = [
    (POINTS, '{"points":{"canary":{"x":"canary"}}}', "field 'points.0.x' is of type str; its schema wants INT32"),
    (POINTS, '{"points":{"canary":{"x":null}}}', "field 'points.0.x': Invalid null value for required INT32 field"),
    (
        POINTS,
        '{"points":{"canary":["canary"]}}',
        "field 'points.0': Structs should be encoded as JSON objects, but fou",
    ),
    (POINTS, '{"points":{"canary":{"x":77777777777}}}', "field 'points.0.x' is a number beyond the 32 bits of INT32"),
    (map_of(INT32, INT32), '[["canary"]]', "Found invalid map entry, expected length 2 but found :1"),
    (map_of(struct({}), INT32), "[[{},1]]", "a MAP whose keys are of type STRUCT, which no dict can have"),
    (decimal(2), '"canary!"', "Invalid bytes for Decimal field"),
]


@pytest.mark.parametrize(("schema", "payload", "message"), REFUSED)
def test_json_that_does_not_fit_its_schema_is_refused_with_the_field(schema: Schema, payload: str, message: str):
    """CNV-05: never with the value."""
    converter = JsonConverter()
    converter.configure(JsonConverter.config.parse({}))
    envelope = (converter.from_connect_data("t", schema.as_optional(), None) or b"").replace(b"null", payload.encode())
    with pytest.raises(DataError) as refused:
        converter.to_connect_data("t", envelope)
    assert message in str(refused.value)
    assert "canary" not in str(refused.value)
    assert "777" not in str(refused.value)


@pytest.mark.parametrize("data", [b"{", b"\xff", b"[" * 100_000, b"9" * 10_000, b"NaN", b"1 2", b"01"])
def test_what_is_no_json_is_refused_without_showing_it(data: bytes) -> None:
    """CNV-05: nor does it run out of stack."""
    with pytest.raises(DataError, match=r"^Converting byte.* due to serialization error: it is no JSON$"):
        without_schemas().to_connect_data("t", data)


@pytest.mark.parametrize("depth", [300, 450, 900])
@pytest.mark.parametrize("enabled", ["true", "false"])
def test_json_nested_deeply_is_read_or_refused(depth: int, enabled: str) -> None:
    """CNV-05: its schema, too; it does not run out of stack."""
    converter = JsonConverter()
    converter.configure(JsonConverter.config.parse({"schemas.enable": enabled}))
    schema = '{"type":"array","items":' * depth + '{"type":"int32"}' + "}" * depth
    data = f'{{"schema":{schema},"payload":{"[" * depth}{"]" * depth}}}'.encode()
    try:
        read = converter.to_connect_data("t", data)
    except DataError as why:
        assert "nested too deeply" in str(why) or "it is no JSON" in str(why)  # noqa: PT017 it may do either
    else:
        assert read.value is not None


@given(DATA)
def test_json_without_schemas_is_read_back_as_it_was(data: Any) -> None:
    """CNV-05: a null is no schema and no value."""
    converter = without_schemas()
    assert converter.to_connect_data("t", converter.from_connect_data("t", None, data)) == SchemaAndValue(None, data)


@pytest.mark.parametrize("encoding", ["utf-7-and-a-half", "hex", "rot13"])
def test_an_encoding_that_is_none_is_refused(encoding: str) -> None:
    """CNV-05: when the converter is configured; Python has codecs that are no encodings of text."""
    with pytest.raises(ConfigError, match="there is no such encoding"):
        string(encoding)
