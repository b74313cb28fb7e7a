"""Structs in columns become the bytes that each of them by itself becomes."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from builtin.golden.json_converter_cases import DEFAULTS, FIRST, LAST, NULLABLE, WHOLE
from eosfw.data import (
    INT32,
    INT64,
    STRING,
    Schema,
    StructColumns,
    Type,
    array,
    arrow_schema_of,
    decimal,
    fitted,
    map_of,
    struct,
)
from eosfw.errors import DataError
from eosfw_schema_registry.avro.columns import encoded_columns
from eosfw_schema_registry.avro.form import AvroForm
from eosfw_schema_registry.avro.values import value_encoder
from schema_registry.golden.avro_cases import COLOR, EITHER, HASH, record, value_of

HEAD = b"\0\0\0\0\7"
FORMS = [AvroForm(), AvroForm(enhanced=True), AvroForm(optional_keys=True), AvroForm(ignore_default=True)]
POINT = struct({"x": INT32, "y": STRING.as_optional()}, name="Point")
NESTED = struct(
    {
        "l": array(INT32).as_optional(),
        "m": map_of(STRING, INT64.as_optional()).as_optional(),
        "n": map_of(INT32, STRING),
        "p": POINT.as_optional(),
        "q": array(POINT.as_optional()),
        "e": struct({}),
        "u": EITHER.as_optional(),
    }
)
DEEP = (
    {"l": None, "m": {"a": 1, "b": None}, "n": {}, "p": None, "q": [], "e": {}, "u": None},
    {"l": [], "m": None, "n": {1: "x", 300: "y"}, "p": {"x": 1}, "q": [None, {"x": 7}], "e": {}, "u": {"int": 1}},
    {"l": [1, 2, 300], "m": {}, "n": {1: ""}, "p": {"x": -1, "y": "t"}, "q": [None], "e": {}, "u": {"string": "a"}},
)
SPECIAL = struct({"c": COLOR.as_optional(), "h": HASH.as_optional(), "d": replace(decimal(3), optional=True)})


def in_lists(schema: Schema, rows: list[Any]) -> StructColumns:
    return StructColumns({name: [one[name] for one in rows] for name in schema.names}, len(rows))


def in_arrow(schema: Schema, rows: list[Any]) -> StructColumns:
    """Columns of pyarrow, which are a part of longer ones."""
    types = arrow_schema_of(schema)
    longer = [*rows[-1:], *rows, *rows[:1]]
    arrays = [
        pa.array([as_arrow(one.schema, row[one.name]) for row in longer], types.field(one.name).type)
        for one in schema.fields
    ]
    return StructColumns.of_arrow(pa.RecordBatch.from_arrays(arrays, names=list(schema.names)).slice(1, len(rows)))


def as_arrow(schema: Schema, value: Any) -> Any:
    """A value as pyarrow takes it: maps are lists of pairs."""
    if value is None or schema.type.is_primitive:
        return value
    if schema.type is Type.STRUCT:
        return {one.name: as_arrow(one.schema, value[one.name]) for one in schema.fields}
    if schema.type is Type.ARRAY:
        return [as_arrow(schema.value_schema, one) for one in value]
    return [(key, as_arrow(schema.value_schema, one)) for key, one in value.items()]


def check(form: AvroForm, schema: Schema, rows: list[Any]) -> None:
    given = [fitted(schema, one) for one in rows]
    encode = value_encoder(form, schema)
    try:
        wanted = [HEAD + encode(one) for one in given]
    except DataError:
        with pytest.raises(DataError):
            encoded_columns(form, schema, in_arrow(schema, given), HEAD)
        return
    assert encoded_columns(form, schema, in_lists(schema, given), HEAD) == wanted
    assert encoded_columns(form, schema, in_arrow(schema, given), HEAD) == wanted


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("schema", "rows"),
    [
        (WHOLE, [FIRST, LAST]),
        (NULLABLE, [{}, FIRST, {}, LAST]),
        (DEFAULTS, [{}, dict(zip(DEFAULTS.names, LAST.values(), strict=True)), {}]),
        (struct({"a": replace(INT32, default=5)}), [{}, {"a": 1}]),
        (NESTED, list(DEEP)),
        (NESTED, [DEEP[1]]),
        (SPECIAL, [{"c": "RED", "h": b"1234"}, {}, {"d": -1}, {"c": "BLUE", "d": 10**30}]),
    ],
)
def test_columns_become_the_bytes_of_each_struct(form: AvroForm, schema: Schema, rows: list[Any]) -> None:
    """CNV-12: from lists and from arrays of pyarrow, nulls, defaults and containers among them."""
    check(form, schema, rows)


@pytest.mark.parametrize("seed", range(60))
def test_columns_of_any_schema_become_the_bytes_of_each_struct(seed: int) -> None:
    """CNV-12."""
    random = Random(seed)
    schema = record(random, 2)
    check(FORMS[seed % len(FORMS)], schema, [value_of(random, schema) for _ in range(random.randint(1, 20))])


def test_no_rows_and_no_columns_become_as_many_bytes() -> None:
    """CNV-12."""
    assert encoded_columns(AvroForm(), NESTED, in_lists(NESTED, []), HEAD) == []
    assert encoded_columns(AvroForm(), NESTED, in_arrow(NESTED, []), HEAD) == []
    assert encoded_columns(AvroForm(), struct({}), StructColumns({}, 2), HEAD) == [HEAD, HEAD]


def test_decimals_with_more_digits_than_an_array_holds_are_written_one_by_one() -> None:
    """CNV-12."""
    wide = replace(decimal(2), parameters={"scale": "2", "connect.decimal.precision": "60"})
    schema = struct({"d": wide, "i": INT32})
    rows = [fitted(schema, {"d": 10**50, "i": 1}), fitted(schema, {"d": -1, "i": 2})]
    encode = value_encoder(AvroForm(), schema)

    assert encoded_columns(AvroForm(), schema, in_lists(schema, rows), b"") == list(map(encode, rows))


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (pa.array([[1], [2, 3]], pa.list_(pa.int32())), [b"\x02\x02\0", b"\x04\x04\x06\0"]),
        (pa.array([["1"]], pa.list_(pa.string())), None),
    ],
)
def test_a_column_of_another_type_is_taken_only_where_that_changes_no_value(column: Any, wanted: Any) -> None:
    """CNV-12: a transformation may give lists whose items could be null, or texts in the place of numbers."""
    schema = struct({"l": array(INT32)})
    columns = StructColumns({"l": column}, len(column))
    if wanted is not None:
        assert encoded_columns(AvroForm(), schema, columns, b"") == wanted
        return
    with pytest.raises(DataError, match="a column is list<item: string>, and its schema list<item: int32"):
        encoded_columns(AvroForm(), schema, columns, b"")


@pytest.mark.parametrize("make", [in_lists, in_arrow])
def test_a_symbol_that_an_enum_has_not_is_refused(make: Any) -> None:
    """CNV-12: the records are then written one by one, so that the field is named."""
    schema = struct({"c": COLOR})
    with pytest.raises(DataError, match="it is no symbol of its enum"):
        encoded_columns(AvroForm(enhanced=True), schema, make(schema, [{"c": "RED"}, {"c": "PINK"}]), HEAD)
