"""Converters make of arrays of Arrow what they make of each value by itself."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.builtin.converters import json_with_schema
from eosfw.builtin.converters.json import JsonConverter
from eosfw.builtin.converters.string import StringConverter
from eosfw.data import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    ArrowValues,
    RepeatedValue,
    Schema,
    StructColumns,
    Type,
    Utf8Strings,
    array,
    decimal,
    fitted,
    fitted_values,
    map_of,
    struct,
)
from eosfw.data.arrow import arrow_type, plain_values
from eosfw.data.columns import Column
from eosfw.data.fitting import INTEGER_LIMITS
from eosfw.data.logical import timestamp_of_millis

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text('a"\\/\n\t\x00\x1f\x7fé\uffff\U0001f600')
MOMENTS = st.integers(-62_135_510_400_000, 253_402_214_400_000).map(timestamp_of_millis)
VALUES = {
    **{Schema(kind): st.integers(*limits) for kind, limits in INTEGER_LIMITS.items()},
    BOOLEAN: st.booleans(),
    FLOAT32: st.floats(width=32),
    FLOAT64: st.floats() | st.integers(-(10**8), 10**8).map(float) | st.sampled_from([1e-3, 1e7, 9999999.5, -0.0]),
    STRING: TEXTS,
    BYTES: st.binary(),
    DATE: MOMENTS.map(datetime.date),
    TIME: MOMENTS.map(datetime.time),
    TIMESTAMP: MOMENTS,
    **{
        decimal(scale): st.integers(-(10**38) + 1, 10**38 - 1).map(
            lambda number, scale=scale: Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))
        )
        for scale in (0, 3, 20)
    },
}
FORMS = [
    {"schemas.enable": enabled, "decimal.format": decimals, "replace.null.with.default": replaced}
    for enabled, decimals, replaced in [
        ("true", "BASE64", "true"),
        ("false", "NUMERIC", "false"),
        ("false", "BASE64", "true"),
    ]
]


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Schema:
    """A schema, maybe optional or with a default."""
    kind = draw(st.integers(0, 5 if depth else 2))
    if kind <= 2:
        made = draw(st.sampled_from(list(VALUES)))
    elif kind == 3:
        made = array(draw(schemas(depth - 1)))
    elif kind == 4:
        made = map_of(draw(st.sampled_from([STRING, INT32, BOOLEAN])), draw(schemas(depth - 1)))
    else:
        made = struct({name: draw(schemas(depth - 1)) for name in draw(st.sets(TEXTS, max_size=3))})
    if draw(st.booleans()):
        return made.as_optional()
    if draw(st.booleans()):
        return Schema(**{**_parts(made), "default": draw(values_of(made))})
    return made


def _parts(schema: Schema) -> dict[str, Any]:
    names = ("type", "name", "version", "parameters", "fields", "key_schema", "value_schema")
    return {name: getattr(schema, name) for name in names}


def values_of(schema: Schema) -> st.SearchStrategy[Any]:
    """Values in the framework's form."""
    made = _present(schema)
    return st.none() | made if schema.optional or schema.default is not None else made


def _present(schema: Schema) -> st.SearchStrategy[Any]:
    if schema.type is Type.ARRAY:
        return st.lists(values_of(schema.value_schema), max_size=3)
    if schema.type is Type.MAP:
        return st.dictionaries(values_of(schema.key_schema), values_of(schema.value_schema), max_size=3)
    if schema.type is Type.STRUCT:
        return st.fixed_dictionaries({one.name: values_of(one.schema) for one in schema.fields})
    return VALUES[Schema(**_parts(schema))]


def for_arrow(schema: Schema, value: Any) -> Any:
    """A value as pyarrow takes it: maps as lists of pairs."""
    if value is None:
        return None
    if schema.type is Type.ARRAY:
        return [for_arrow(schema.value_schema, one) for one in value]
    if schema.type is Type.MAP:
        return [(key, for_arrow(schema.value_schema, one)) for key, one in value.items()]
    if schema.type is Type.STRUCT:
        return {one.name: for_arrow(one.schema, value[one.name]) for one in schema.fields}
    return value


@st.composite
def columns(draw: st.DrawFn) -> tuple[Schema, list[Any], pa.Array]:
    """A schema, values of it, and the same as an array that begins within another one."""
    schema = draw(schemas())
    values = draw(st.lists(values_of(schema), max_size=6))
    array_of = pa.array([for_arrow(schema, one) for one in values], arrow_type(schema))
    start = draw(st.integers(0, len(values)))
    return schema, values[start:], array_of[start:]


def converter(properties: dict[str, str]) -> JsonConverter:
    made = JsonConverter()
    made.configure(JsonConverter.config.parse(properties))
    return made


def assert_alike(form: Any, schema: Schema, column: Column, values: list[Any]) -> None:
    """The same bytes, or the same refusal of a null that nothing replaces."""
    assert_converted_alike(converter(form), schema, column, values)


def assert_converted_alike(part: Any, schema: Schema, column: Column, values: list[Any]) -> None:
    try:
        wanted = [part.from_connect_data("t", schema, fitted(schema, one)) for one in values]
    except (ValueError, TypeError) as why:
        with pytest.raises(type(why), match=re.escape(str(why))):
            part.from_connect_columns("t", schema, column)
    else:
        assert part.from_connect_columns("t", schema, column) == wanted


@given(columns(), st.sampled_from(FORMS))
def test_json_of_an_array_is_that_of_each_value(column: tuple[Schema, list[Any], pa.Array], form: Any) -> None:
    """CNV-40: all types, nulls, defaults, containers."""
    schema, values, of_arrow = column
    assert_alike(form, schema, ArrowValues(of_arrow), values)


@given(st.lists(columns(), min_size=1, max_size=4), st.sampled_from(FORMS), st.data())
def test_json_of_structs_in_columns_is_that_of_each_struct(given_columns: Any, form: Any, data: st.DataObject) -> None:
    """CNV-40: also where some columns are lists, as a transformation leaves them."""
    length = min(len(values) for _, values, _ in given_columns)
    schema = struct({f"{at}%s": one for at, (one, _, _) in enumerate(given_columns)})
    made = {
        f"{at}%s": values[:length] if at and data.draw(st.booleans()) else of_arrow[:length]
        for at, (_, values, of_arrow) in enumerate(given_columns)
    }
    structs = StructColumns(made, length)
    assert_alike(form, schema, structs, list(structs))


def test_a_map_of_arrow_that_has_a_name_twice_is_written_as_the_mapping_that_it_is() -> None:
    """CNV-40: Arrow allows it, a mapping does not."""
    schema = map_of(STRING, INT64)
    twice = pa.array([[("a", 1), ("b", 2), ("a", 3)], [("a", 4)]], pa.map_(pa.string(), pa.int64()))

    assert_alike(FORMS[1], schema, ArrowValues(twice), plain_values(twice))
    assert converter(FORMS[1]).from_connect_columns("t", schema, ArrowValues(twice))[0] == b'{"a":3,"b":2}'


def test_more_rows_than_are_written_at_once_keep_their_order() -> None:
    """CNV-40."""
    schema = struct({"id": INT32})
    structs = StructColumns({"id": pa.array(range(10_000), pa.int32())}, 10_000)
    assert_alike(FORMS[0], schema, structs, list(structs))


@pytest.mark.parametrize("installed", [True, False])
def test_many_structs_in_lists_are_written_as_each_by_itself(
    monkeypatch: pytest.MonkeyPatch, *, installed: bool
) -> None:
    """CNV-02: by pyarrow if it is installed."""
    monkeypatch.setattr(json_with_schema, "_are_enough_for_pyarrow", lambda _: installed)
    schema = struct({"id": INT32, "note": STRING.as_optional(), "price": decimal(2), "tags": array(STRING)})
    row = {"price": Decimal("1.50"), "tags": ["a", "b"]}
    # The first note and the last one are the same, those between are not.
    rows = [{"id": at, "note": f'"{at}"' if at % 3 == 1 else None, **row} for at in range(300)]
    assert_alike(FORMS[0], schema, fitted_values(schema, rows), rows)


def test_strings_held_as_bytes_are_written_as_the_strings_they_are() -> None:
    """CNV-02: what is no UTF-8, too."""
    for held in ([b"a", b'"'] * 100, [b"a", b"\xff"] * 100):
        strings = Utf8Strings(held)
        assert_alike(FORMS[0], STRING, strings, list(strings))
        rows = [{"line": one} for one in strings]
        assert_alike(FORMS[0], struct({"line": STRING}), StructColumns({"line": strings}, len(rows)), rows)


@pytest.mark.parametrize("text", ["half \ud800", "a" * 3])
def test_a_text_that_arrow_does_not_take_is_refused_as_by_itself(text: str) -> None:
    """CNV-02."""
    assert_alike(FORMS[0], STRING, [text] * 200, [text] * 200)


def test_an_array_that_is_no_text_is_refused() -> None:
    """CNV-40: bytes that were cast to texts without a look at them."""
    column = pa.array([b"a", b"\xff"]).view(pa.string())
    with pytest.raises(ValueError, match="UTF"):
        converter(FORMS[0]).from_connect_columns("t", STRING, ArrowValues(column))


def test_arrays_of_other_types_are_written_as_those_of_the_schema() -> None:
    """CNV-40: a transformation may leave such."""
    column = pa.array(["a", None, "a"]).dictionary_encode()
    assert_alike(FORMS[0], STRING.as_optional(), ArrowValues(column), ["a", None, "a"])


@given(st.sampled_from(list(VALUES)), st.data(), st.sampled_from(["utf-8", "latin-1", "utf-16"]))
def test_the_text_of_an_array_is_that_of_each_value(schema: Schema, data: st.DataObject, encoding: str) -> None:
    """CNV-42."""
    schema = schema.as_optional() if data.draw(st.booleans()) else schema
    values = data.draw(st.lists(values_of(schema), max_size=5))
    part = StringConverter()
    part.configure(StringConverter.config.parse({"converter.encoding": encoding}))
    assert_converted_alike(part, schema, ArrowValues(pa.array(values, arrow_type(schema))), values)


@st.composite
def structs_in_columns(draw: st.DrawFn, depth: int = 2) -> tuple[Schema, StructColumns]:
    """Structs of which fields are columns of structs, lists, and lists that repeat one value."""
    length, fields, made = draw(st.integers(1, 4)), {}, {}
    for name in draw(st.sets(TEXTS, min_size=1, max_size=4)):
        if depth and draw(st.booleans()):
            fields[name], inner = draw(structs_in_columns(depth - 1))
            made[name] = StructColumns({key: [one[0]] * length for key, one in inner.columns.items()}, length)
        else:
            fields[name] = draw(schemas(1))
            one = values_of(fields[name])
            same = one.map(lambda value: [value] * length) | one.map(lambda value: RepeatedValue(value, length))
            made[name] = draw(st.lists(one, min_size=length, max_size=length) | same)
    return struct(fields), StructColumns(made, length)


@given(structs_in_columns(), st.sampled_from(FORMS), st.booleans())
def test_json_of_columns_of_structs_in_structs_is_that_of_each_struct(
    given_columns: tuple[Schema, StructColumns],
    form: Any,
    by_arrow: bool,  # noqa: FBT001 # Hypothesis gives it by position
) -> None:
    """CNV-40: fields that are columns of structs, or repeat one value; with pyarrow and without."""
    schema, structs = given_columns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_with_schema, "_MANY", 1 if by_arrow else 1 << 30)
        assert_alike(form, schema, fitted_values(schema, structs), list(structs))


@pytest.mark.parametrize("schema", [FLOAT32, FLOAT64])
def test_floating_point_numbers_in_arrays_are_written_as_java_writes_them(schema: Schema) -> None:
    """CNV-40, CNV-42: where its exponents begin, and what is no number."""
    numbers = [0.0, -0.0, 1.0, 1e-3, 9.9e-4, 9999999.0, 1e7, -1e7, 1e21, 5e-324, 0.1, float("nan"), float("-inf")]
    values = [fitted(schema, one) for one in numbers]
    column = ArrowValues(pa.array(values, arrow_type(schema)))
    text = StringConverter()
    text.configure(StringConverter.config.parse({}))

    assert_alike(FORMS[1], schema, column, values)
    assert_converted_alike(text, schema, column, values)


EDGES = [sign * (1 << bits) + near for bits in range(130) for near in (-1, 0, 1) for sign in (1, -1)]


@pytest.mark.parametrize("limit", [1 << 7, 1 << 15, 1 << 55, 1 << 63, 10**38])
def test_decimals_in_arrays_are_written_as_java_writes_their_bytes(limit: int) -> None:
    """CNV-40: where a number takes one byte more."""
    values = [Decimal(one).scaleb(-2, Context(prec=40)) for one in EDGES if abs(one) <= limit and abs(one) < 10**38]
    schema = struct({"price": decimal(2)})
    columns = StructColumns({"price": pa.array(values, arrow_type(decimal(2)))[1:]}, len(values) - 1)
    assert_alike(FORMS[0], schema, columns, [{"price": one} for one in values[1:]])


def test_a_part_of_an_array_of_containers_is_written_by_its_own_values() -> None:
    """CNV-40."""
    inner = struct({"m": map_of(STRING, INT64).as_optional(), "l": array(INT64), "s": STRING})
    rows: list[Any] = [{"m": {f"k{at}": at, "x": 7}, "l": [at] * at, "s": f"s{at}"} for at in range(5)]
    whole = pa.array([for_arrow(inner, one) for one in rows], arrow_type(inner))

    for name in inner.names:
        one = inner.field(name)
        assert one is not None
        column = whole.field(name)[2:4]
        assert_alike(FORMS[1], one, ArrowValues(column), [row[name] for row in rows[2:4]])
    assert_alike(
        FORMS[1],
        array(inner),
        ArrowValues(pa.array([whole.to_pylist()[:1], whole.to_pylist()[2:]], pa.list_(arrow_type(inner)))[1:]),
        [rows[2:]],
    )
