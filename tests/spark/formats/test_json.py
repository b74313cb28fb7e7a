"""How JSON becomes typed columns."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eosfw_spark.formats.ddl import parse_ddl
from eosfw_spark.formats.json.format import EnvelopeFormat, JsonFormat
from eosfw_spark.formats.json.json_schema import arrow_type as of_json_schema
from eosfw_spark.formats.typed_columns import decode_column
from eosfw_spark.formats.undecodable import UndecodableError

ENVELOPES = Path(__file__).parent / "golden" / "envelopes.json"
NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)


def decoded(schema: str | pa.DataType, *values: bytes | None, connect: bool = False) -> list[Any]:
    """The values, each that does not decode as its reason."""
    wanted = parse_ddl(schema) if isinstance(schema, str) else schema
    column, failures = decode_column(pa.array(values, pa.binary()), JsonFormat(wanted, connect).deserializer())
    assert column.type == wanted
    return [str(failures[row]) if row in failures else value for row, value in enumerate(column.to_pylist())]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("INT", "7", 7),
        ("INT", '" 7 "', 7),
        ("DOUBLE", "7", 7.0),
        ("DOUBLE", '"1e3"', 1000.0),
        ("STRING", '"ø"', "ø"),
        ("STRING", "1.50", "1.50"),
        ("STRING", "true", "true"),
        ("STRING", '{"b": [1, null]}', '{"b":[1,null]}'),
        ("BOOLEAN", "true", True),
        ("BOOLEAN", '"No"', False),
        ("DECIMAL(5,2)", "1.005", Decimal("1.01")),
        ("DECIMAL(5,2)", '"-2"', Decimal("-2.00")),
        ("DATE", '"2024-01-31"', date(2024, 1, 31)),
        ("TIMESTAMP", '"2024-01-31T13:00:00+01:00"', NOON),
        ("TIMESTAMP", '"2024-01-31 12:00:00"', NOON),
        ("TIMESTAMP_NTZ", '"2024-01-31 12:00:00"', NOON.replace(tzinfo=None)),
        ("BINARY", '"AP8="', b"\0\xff"),
        ("ARRAY<INT>", "[1, null]", [1, None]),
        ("MAP<STRING, INT>", '{"a": 1}', [("a", 1)]),
        ("MAP<INT, INT>", '{"2": 1}', [(2, 1)]),
        ("STRUCT<x: FLOAT>", '{"x": 0.5, "y": 1}', {"x": 0.5}),
        ("INT", "null", None),
    ],
)
def test_values_have_the_types_of_the_schema(kind: str, text: str, value: Any) -> None:
    """CNV-30."""
    assert decoded(f"v {kind}", f'{{"v": {text}, "more": 1}}'.encode()) == [{"v": value}]


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("INT", "1.0", "a JSON number where INT is wanted"),
        ("INT", '"seven"', "a JSON string where INT is wanted"),
        ("INT", "true", "a JSON boolean where INT is wanted"),
        ("TINYINT", "128", "a number beyond the range of TINYINT"),
        ("DECIMAL(3,2)", "10", "a number beyond the range of DECIMAL(3, 2)"),
        ("DOUBLE", '"secret"', "a JSON string where DOUBLE is wanted"),
        ("DATE", '"secret"', "a text that is no date such as 2024-01-31"),
        ("TIMESTAMP", "1700000000", "a JSON number where TIMESTAMP as text is wanted"),
        ("TIMESTAMP", '"secret"', "a text that is no timestamp such as 2024-01-31T12:00:00Z"),
        ("BINARY", '"secret!"', "a text that is no base64"),
        ("ARRAY<INT>", "{}", "a JSON object where ARRAY is wanted"),
        ("BOOLEAN", '"secret"', "a JSON string where BOOLEAN is wanted"),
    ],
)
def test_what_does_not_fit_is_named_by_its_field_never_by_its_value(kind: str, text: str, reason: str) -> None:
    """CNV-36."""
    (found,) = decoded(f"o STRUCT<v: {kind}>", f'{{"o": {{"v": {text}}}}}'.encode())

    assert found == f"field o.v: {reason}"
    assert "secret" not in found


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"secret", "it is no JSON at character 0"),
        (b'{"v": 1} {"v": 2}', "it is no JSON at character 9"),
        (b'{"v": NaN}', "it is no JSON that can be read"),
        (b'{"v": "\xff"}', "it is no JSON: it is not UTF-8 at byte 7"),
        (b"[1]", "a JSON array where STRUCT is wanted"),
        (b'{"v": "\\ud800"}', "a value does not fit the type of its column"),
    ],
)
def test_what_is_no_json_is_named_by_its_place(value: bytes, reason: str) -> None:
    """CNV-36: the records around it decode."""
    good = b'{"v": "a"}'

    assert decoded("v STRING", good, value, good) == [{"v": "a"}, reason, {"v": "a"}]


def test_values_that_would_take_long_or_are_nested_too_deeply_do_not_decode() -> None:
    """CNV-36: whatever bytes a record has, a task neither hangs nor ends with an error of Python."""
    price = pa.struct([("price", pa.decimal128(38, 2))])
    deep = [b'{"s": ' + b"[" * depth + b"]" * depth + b"}" for depth in (10, *range(300, 1000, 50), 100_000)]

    assert decoded(price, b'{"price": "%s"}' % (b"f" * 4_000_000), connect=True) == [
        "field price: a number beyond the range of DECIMAL(38, 2)"
    ]
    assert decoded("m DECIMAL(9,2)", b'{"m": 1e999999999}') == ["field m: a number beyond the range of DECIMAL(9, 2)"]
    found = decoded("s STRING", *deep)
    assert found[0] == {"s": "[" * 10 + "]" * 10}
    assert found[-1] == "it is no JSON that can be read"
    assert all(isinstance(each, dict) or "nested too deeply" in each or "can be read" in each for each in found)


def test_tombstones_and_empty_values_are_null() -> None:
    """CNV-30: as `from_json` has them."""
    assert decoded("v INT", None, b" ", b"null", b'{"v": 1}') == [None, None, None, {"v": 1}]
    assert decoded("v INT", None, b'{"v": 1}', None) == [None, {"v": 1}, None]
    assert decoded("v INT", None, None) == [None, None]
    assert decoded("v INT") == []


def test_a_schema_may_be_one_type() -> None:
    """CNV-30: such as that of a key."""
    assert decoded("BIGINT", b"7", b"x") == [7, "it is no JSON at character 0"]


# --- by columns

COLUMNS = (
    "i INT, l BIGINT, d DOUBLE, f FLOAT, s STRING, b BOOLEAN, n STRUCT<x: INT, y: ARRAY<STRING>>"
    ", t DATE, m DECIMAL(4,1)"
)
numbers = st.integers(-(2**40), 2**40) | st.floats(allow_nan=False) | st.sampled_from(["1e400", "-0", "1.0"])
plain = st.none() | st.booleans() | numbers | st.text(max_size=3) | st.sampled_from(["2024-01-31", "1.25"])
nested = plain | st.lists(plain, max_size=2) | st.dictionaries(st.sampled_from("xy"), plain, max_size=2)
objects = st.dictionaries(st.sampled_from("ildfsbntmz"), nested | st.lists(st.text(max_size=2)), max_size=5)
texts = objects.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
torn = st.sampled_from(
    [b'{"i":1},"j":{}', b"{}{}", b'{"i":1', b"{}", b"", b"}{", b"{\n}", b'{"s":"a\nb"}', b"{\0}", b'{"i":1,"i":2}']
)
pieces = st.lists(
    st.sampled_from([b"{", b"}", b'"s":', b'"i":1', b",", b'"a"', b"\n", b" ", b"[", b"]", b"\0"]), max_size=9
)


@given(st.lists(texts | torn | pieces.map(lambda parts: b"{" + b"".join(parts) + b"}"), max_size=4))
@example([b'{"i":1},"j":{}}', b"{}"])
@example([b'{"s":"a', b'"}'])
@example([b'{"i":1}{"i":2}'])
@example([b'{"i":1}{"i":2}', b" "])
@example([b'{"i":1', b',"s":"b"}{}'])
@example([b'{"d":NaN}'])
@example([b'{"i":1,"z":[ -Infinity]}'])
@example([b'{"d": Inf}'])
def test_columns_are_read_at_once_as_one_by_one(values: list[bytes]) -> None:
    """CNV-31: or not at once: Arrow's reader gives what Python's gives, or nothing."""
    deserializer = JsonFormat(parse_ddl(COLUMNS)).deserializer()
    at_once = deserializer.deserialize_column(pa.array(values, pa.binary()))

    if at_once is not None:
        one_by_one = pa.array([deserializer.deserialize(each) for each in values], deserializer.type)
        assert at_once.to_pylist() == one_by_one.to_pylist()
        at_once.validate(full=True)


def test_what_json_has_no_number_for_is_refused_whatever_stands_beside_it() -> None:
    """CNV-31: Arrow's reader takes NaN and Infinity, which the values beside them must not decide about."""
    refused = "it is no JSON that can be read"
    assert decoded("d DOUBLE", b'{"d":NaN}') == decoded("d DOUBLE", b'{"d":NaN}', b" ")[:1] == [refused]
    assert decoded("d DOUBLE", b'{"d":1, "z":-Infinity}') == [refused]


def test_plain_objects_are_read_at_once() -> None:
    """CNV-31."""
    deserializer = JsonFormat(parse_ddl(COLUMNS)).deserializer()
    value = {"i": 1, "l": 2, "d": 0.5, "f": 0.1, "s": "Info", "b": True, "n": {"y": ["NaN"]}, "t": "2024-01-31"}
    value["m"] = "1.25"
    column = pa.array([json.dumps(value).encode(), None, b'{"i": 2}'], pa.binary())

    found = deserializer.deserialize_column(column)

    assert found is not None
    assert [row and row["i"] for row in found.to_pylist()] == [1, None, 2]
    assert found.field("m").to_pylist() == [Decimal("1.3"), None, None]
    assert found.field("t").to_pylist() == [date(2024, 1, 31), None, None]


# --- the envelope of Kafka Connect

ORDER = {
    "type": "struct",
    "name": "Order",
    "fields": [
        {"field": "id", "type": "int32"},
        {
            "field": "price",
            "type": "bytes",
            "name": "org.apache.kafka.connect.data.Decimal",
            "parameters": {"scale": "2"},
        },
        {"field": "day", "type": "int32", "name": "org.apache.kafka.connect.data.Date"},
        {"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
        {"field": "time", "type": "int32", "name": "org.apache.kafka.connect.data.Time"},
        {"field": "tags", "type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}},
    ],
}
PAYLOAD = {"id": 1, "price": "AN8=", "day": 19753, "at": 1706702400000, "time": 5, "tags": [[1, "a"]]}
ROW = {"id": 1, "price": Decimal("2.23"), "day": date(2024, 1, 31), "at": NOON, "time": 5, "tags": [(1, "a")]}


def enveloped(schema: Any, payload: Any) -> bytes:
    return json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()


def of_envelopes(schema: Any, *values: bytes | None) -> list[Any]:
    from eosfw_spark.formats.json.connect_schema import arrow_type

    deserializer = EnvelopeFormat(json.dumps(schema), arrow_type(schema)).deserializer()
    column, failures = decode_column(pa.array(values, pa.binary()), deserializer)
    return [str(failures[row]) if row in failures else value for row, value in enumerate(column.to_pylist())]


def test_an_envelope_has_the_types_of_its_schema_and_logical_types() -> None:
    """CNV-32, CNV-37."""
    null = enveloped(None, None)

    assert of_envelopes(ORDER, enveloped(ORDER, PAYLOAD), None, null) == [ROW, None, None]


EVERY_ROW = {
    "i8": -1,
    "i16": 2,
    "i32": 3,
    "i64": 1 << 60,
    "f32": pytest.approx(0.1),
    "f64": 1e-7,
    "ok": True,
    "text": "ø\n",
    "data": b"\0\xff",
    "none": None,
    "other": "given",
    "list": [1, None],
    "map": [("k", 5)],
    "pairs": [(7, "x")],
    "inner": {"x": 4},
    "price": Decimal("-12.30"),
    "day": date(2024, 1, 31),
    "time": 5,
    "at": NOON.replace(microsecond=123000),
}


@pytest.mark.parametrize(
    ("name", "value"),
    [("every", EVERY_ROW), ("numeric", EVERY_ROW), ("key", 7), ("null", None)],
    ids=["every", "numeric", "key", "null"],
)
def test_envelopes_are_those_of_kafka_connects_own_converter(name: str, value: Any) -> None:
    """CNV-32, CNV-37: as `record_envelopes.py` has recorded them; also many of them at once."""
    data = json.loads(ENVELOPES.read_text(encoding="utf-8"))[name].encode()

    assert of_envelopes(json.loads(data)["schema"], data, data) == [value, value]


def test_each_envelope_is_decoded_by_its_own_schema() -> None:
    """CNV-32: a decimal of another scale, a narrower number, a new field; a text instead of a number does not fit."""
    columns = {"type": "struct", "fields": [{"field": "n", "type": "int64"}, ORDER["fields"][1]]}  # type: ignore[index]
    price = {**columns["fields"][1], "parameters": {"scale": "1"}}  # type: ignore[index]
    other = {"type": "struct", "fields": [{"field": "n", "type": "int8"}, price, {"field": "z", "type": "string"}]}
    text, wide = ({"type": "struct", "fields": [{"field": "n", "type": kind}]} for kind in ("string", "double"))

    found = of_envelopes(
        columns,
        enveloped(columns, {"n": 1, "price": "AN8="}),
        enveloped(other, {"n": 2, "price": "AN8=", "z": "new"}),
        enveloped(text, {"n": "3"}),
        enveloped(wide, {"n": 3.0}),
        b'{"n": 4}',
    )

    assert found == [
        {"n": 1, "price": Decimal("2.23")},
        {"n": 2, "price": Decimal("22.30")},
        *["field n: its schema has another type than that of the first record"] * 2,
        'it is no envelope of "schema" and "payload", as JsonConverter writes with schemas.enable',
    ]


PLAIN = {
    "type": "struct",
    "fields": [{"field": "id", "type": "int32"}, ORDER["fields"][3], {"field": "s", "type": "string"}],
}  # type: ignore[index]


def test_envelopes_of_one_schema_are_read_at_once() -> None:
    """CNV-31: the texts of their schemas are compared, not parsed."""
    from eosfw_spark.formats.json.connect_schema import arrow_type

    deserializer = EnvelopeFormat(json.dumps(PLAIN), arrow_type(PLAIN)).deserializer()
    values = [enveloped(PLAIN, {"id": n, "at": 1706702400000 + n, "s": "}"}) for n in range(3)]
    column = pa.array([None, *values], pa.binary())

    found = deserializer.deserialize_column(column)

    assert found is not None
    assert found.to_pylist() == [None, *(deserializer.deserialize(each) for each in values)]
    for other in (enveloped({**PLAIN, "version": 2}, {"id": 1}), b'{"id":1}', values[0][:-1], values[0] + b"}}"):
        assert deserializer.deserialize_column(pa.array([*values, other], pa.binary())) is None
        assert deserializer.deserialize_column(pa.array([other, other], pa.binary())) is None


# --- JSON Schema

CONNECT = {
    "type": "object",
    "title": "Order",
    "properties": {
        "at": {"type": "integer", "title": "org.apache.kafka.connect.data.Timestamp", "connect.index": 1},
        "id": {"oneOf": [{"type": "null"}, {"type": "integer", "connect.type": "int32"}], "connect.index": 0},
        "price": {
            "type": "number",
            "title": "org.apache.kafka.connect.data.Decimal",
            "connect.parameters": {"scale": "1"},
            "connect.index": 2,
        },
        "place": {"$ref": "#/definitions/place", "connect.index": 3},
        "any": {"type": "object", "additionalProperties": {"type": ["number", "null"]}, "connect.index": 4},
        "pairs": {
            "type": "array",
            "connect.type": "map",
            "connect.index": 5,
            "items": {"type": "object", "properties": {"key": {"type": "integer"}, "value": {"type": "boolean"}}},
        },
    },
    "definitions": {"place": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


def test_a_json_schema_says_the_columns_with_what_kafka_connect_adds() -> None:
    """CNV-33, CNV-37."""
    found = of_json_schema(json.dumps(CONNECT))
    value = {"id": 7, "at": 1706702400000, "price": 1.5, "place": {"city": "Bern"}, "any": {"a": 1}}
    pairs = {"pairs": [{"key": 1, "value": True}]}

    assert [each.name for each in found] == ["id", "at", "price", "place", "any", "pairs"]
    assert found.field("id").type == pa.int32()
    assert decoded(found, json.dumps(value | pairs).encode(), connect=True) == [
        {**value, "at": NOON, "price": Decimal("1.5"), "any": [("a", 1.0)], "pairs": [(1, True)]}
    ]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "object"}, "has no single type of a column at its top"),
        (
            {"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}, {"type": "number"}]}}},
            "type of a column at a",
        ),
        ({"properties": {"a": {"$ref": "#"}}, "type": "object"}, "refers to itself at a"),
        ({"$ref": "other.json"}, "refers to another document at its top"),
        ({"$ref": "#/definitions/x"}, "refers to what it does not have"),
    ],
)
def test_a_json_schema_without_columns_is_named(schema: Any, message: str) -> None:
    """CNV-38."""
    with pytest.raises(ValueError, match=r"^(has|refers)") as refused:
        of_json_schema(json.dumps(schema))

    assert message in str(refused.value)


def test_json_behind_the_id_of_a_schema_is_read_without_it() -> None:
    """CNV-33."""
    deserializer = JsonFormat(parse_ddl("v INT"), connect=True, prefixed=True).deserializer()
    values = [b'\0\0\0\0\x07{"v": 1}', b'{"v": 1}']

    at_once = deserializer.deserialize_column(pa.array(values[:1], pa.binary()))
    assert at_once is not None
    assert at_once.to_pylist() == [{"v": 1}] == [deserializer.deserialize(values[0])]
    with pytest.raises(UndecodableError, match="does not begin with the id"):
        deserializer.deserialize(values[1])
    assert deserializer.deserialize_column(pa.array(values, pa.binary())) is None
