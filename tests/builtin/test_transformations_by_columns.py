"""Transformations make of a batch of columns what they make of each of its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosfw.config.parts import PartChoice
from eosfw.data import (
    BOOLEAN,
    DATE,
    FLOAT64,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
    SchemaAndValue,
    StructColumns,
    Type,
    array,
    decimal,
    schema_of,
    struct,
)
from eosfw.data.arrow import arrow_type
from eosfw.errors import DataError
from eosfw.records import ProducerBatch, SourceRecord
from eosfw.registry import Plugins, load_plugins

from .source_records import source_records

MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1)).map(  # noqa: DTZ001 the zone comes next
    lambda one: one.replace(microsecond=one.microsecond // 1000 * 1000, tzinfo=UTC)
)
PLAIN: Mapping[Schema, st.SearchStrategy[Any]] = {
    INT32: st.integers(-(2**31), 2**31 - 1),
    INT64: st.integers(0, 10**12),
    FLOAT64: st.floats(allow_nan=False),
    BOOLEAN: st.booleans(),
    STRING: st.text(max_size=3),
    decimal(2): st.integers(-(10**6), 10**6).map(lambda one: Decimal(one).scaleb(-2)),
    DATE: st.dates(date(1970, 1, 1), date(2100, 1, 1)),
    TIME: st.times().map(lambda one: one.replace(microsecond=0)),
    TIMESTAMP: MOMENTS,
    array(STRING): st.lists(st.text(max_size=2), max_size=2),
}
NAMES = ("a", "b", "c", "d.e")
TRANSFORMATIONS: Sequence[tuple[str, Mapping[str, str]]] = (
    ("InsertField$Value", {"topic.field": "topic", "static.field": "fixed!", "static.value": "x"}),
    ("InsertField$Value", {"partition.field": "p", "timestamp.field": "ts", "replace.null.with.default": "false"}),
    ("InsertField$Key", {"timestamp.field": "ts", "topic.field": "topic!"}),
    ("ReplaceField$Value", {"exclude": "b", "renames": "a:x,c:y"}),
    ("ReplaceField$Value", {"include": "a,c", "replace.null.with.default": "false"}),
    ("ReplaceField$Key", {"renames": "a:b2"}),
    ("HoistField$Value", {"field": "whole"}),
    ("HoistField$Key", {"field": "whole"}),
    ("ExtractField$Value", {"field": "a"}),
    ("ExtractField$Value", {"field": "c.`d.e`", "field.syntax.version": "V2"}),
    ("ExtractField$Value", {"field": "c.a", "field.syntax.version": "V2", "replace.null.with.default": "false"}),
    ("ExtractField$Key", {"field": "c"}),
    ("ValueToKey", {"fields": "a,b"}),
    ("ValueToKey", {"fields": "c", "replace.null.with.default": "false"}),
    ("SetSchemaMetadata$Value", {"schema.name": "n", "schema.version": "3"}),
    ("SetSchemaMetadata$Key", {"schema.name": "n"}),
    ("Cast$Value", {"spec": "a:string,b:string"}),
    ("Cast$Value", {"spec": "string"}),
    *(("Cast$Value", {"spec": f"a:{kind},b:{kind}"}) for kind in ("int8", "int64", "float32", "float64", "boolean")),
    ("Flatten$Value", {}),
    ("Flatten$Key", {"delimiter": "_"}),
    ("MaskField$Value", {"fields": "a,c"}),
    ("MaskField$Value", {"fields": "b", "replacement": "7"}),
    ("TimestampConverter$Value", {"field": "a", "target.type": "unix", "format": "yyyy-MM-dd"}),
    ("HeaderFrom$Value", {"fields": "a,c", "headers": "h,i", "operation": "move"}),
    ("HeaderFrom$Key", {"fields": "b", "headers": "h", "operation": "copy"}),
    ("DropHeaders", {"headers": "given"}),
    ("InsertHeader", {"header": "h", "value.literal": "[1, 2]"}),
    ("RegexRouter", {"regex": "(.*)", "replacement": "x.$1"}),
    ("TimestampRouter", {"timestamp.format": "HH"}),
)


@cache
def plugins() -> Plugins:
    return load_plugins()


def transformation(name: str, properties: Mapping[str, str]) -> Any:
    return PartChoice("part", name, properties).configured(plugins().transformation(name))


@st.composite
def schemas(draw: st.DrawFn, *, nested: bool = True) -> Schema:
    """A struct of some of the fields, which may be optional or have defaults."""
    fields = {}
    for name in NAMES:
        if nested and name == "c":
            one = draw(schemas(nested=False))
        else:
            one = draw(st.sampled_from(list(PLAIN)))
            if one.type.is_primitive and draw(st.booleans()):
                one = replace(one, default=draw(PLAIN[one]))
        fields[name] = one.as_optional() if draw(st.booleans()) else one
    return struct(fields, name="n")


def values(schema: Schema) -> st.SearchStrategy[Any]:
    bare = replace(schema, optional=False, default=None)
    if schema.type is Type.STRUCT:
        one = st.fixed_dictionaries({field.name: values(field.schema) for field in schema.fields})
    else:
        one = PLAIN[bare]
    nullable = schema.optional or schema.default is not None
    return st.none() | one if nullable else one


def by_lists(schema: Schema, rows: Sequence[Any]) -> StructColumns:
    return StructColumns({name: [one[name] for one in rows] for name in schema.names}, len(rows))


def by_arrow(schema: Schema, rows: Sequence[Any]) -> StructColumns:
    columns = {one.name: pa.array([row[one.name] for row in rows], arrow_type(one.schema)) for one in schema.fields}
    return StructColumns(columns, len(rows))


def by_dicts(schema: Schema, rows: Sequence[Any]) -> list[Any]:
    return list(rows)


def forms(rows: Sequence[Any]) -> st.SearchStrategy[Any]:
    """The ways in which a batch holds structs; nulls among them are in a list."""
    return st.just(by_dicts) if None in rows else st.sampled_from((by_dicts, by_lists, by_arrow))


@st.composite
def batches(draw: st.DrawFn) -> tuple[ProducerBatch, list[Any], list[Any]]:
    schema = draw(schemas())
    schema = schema.as_optional() if draw(st.booleans()) else schema
    count = draw(st.integers(1, 4))
    value_rows, key_rows = (draw(st.lists(values(schema), min_size=count, max_size=count)) for _ in range(2))
    stamps = draw(st.none() | st.lists(st.integers(0, 10**12), min_size=count, max_size=count))
    headers = [(("given", b"x"), ("other", SchemaAndValue(STRING, "y")))] * count if draw(st.booleans()) else None
    made = ProducerBatch(
        "t",
        draw(forms(value_rows))(schema, value_rows),
        draw(forms(key_rows))(schema, key_rows),
        draw(st.sampled_from((None, 3))),
        stamps,
        headers,
        schema,
        schema,
    )
    return made, value_rows, key_rows


@pytest.mark.parametrize(("name", "properties"), TRANSFORMATIONS)
@settings(max_examples=15)
@given(case=batches())
def test_a_batch_becomes_what_its_records_become(name, properties, case):
    """SMT-04."""
    batch, value_rows, key_rows = case
    part = transformation(name, properties)
    given_records = [
        replace(one, value=value, key=key)
        for one, value, key in zip(source_records(batch), value_rows, key_rows, strict=True)
    ]
    try:
        made = part.apply_batch(batch)
    except ValueError:
        return  # then `apply` is asked for each record
    assert source_records(made) == [part.apply(one) for one in given_records]


@pytest.mark.parametrize(("name", "properties"), TRANSFORMATIONS)
def test_a_batch_that_every_record_fits_needs_no_record_by_itself(name, properties):
    """SMT-04."""
    inner = struct({"a": STRING, "d.e": INT32})
    schema = struct({"a": INT64, "b": INT32, "c": inner})
    rows = [{"a": one, "b": one, "c": {"a": "x", "d.e": one}} for one in range(3)]
    if name in ("MaskField$Value", "Flatten$Value", "HeaderFrom$Value"):
        schema = struct({"a": INT64, "b": INT32, "c": STRING})
        rows = [{**one, "c": "x"} for one in rows]
    batch = ProducerBatch("t", by_arrow(schema, rows), by_arrow(schema, rows), 0, [0, 1, 2], None, schema, schema)
    if name == "Cast$Value" and properties["spec"] == "string":
        batch = replace(batch, values=["x", "y", "z"], value_schema=STRING)

    made = transformation(name, properties).apply_batch(batch)

    assert len(made) == 3


SCHEMA = struct({"id": INT64, "name": STRING, "count": replace(INT32, default=3)})
ROWS = [{"id": one, "name": "n", "count": one} for one in range(1000)]


def unchanged_columns(name: str, properties: Mapping[str, str], form: Any) -> dict[str, str]:
    """The fields of the new values whose columns are the given ones, object for object."""
    given_values = form(SCHEMA, ROWS)
    batch = ProducerBatch("t", given_values, None, 0, None, None, None, SCHEMA)
    made = transformation(name, properties).apply_batch(batch)
    given_columns = {id(column): field for field, column in given_values.columns.items()}
    structs = made.keys if name == "ValueToKey" else made.values
    return {field: given_columns[id(one)] for field, one in structs.columns.items() if id(one) in given_columns}


@pytest.mark.parametrize("form", [by_lists, by_arrow])
def test_what_is_not_changed_keeps_its_column_object_for_object(form):
    """SMT-05."""
    kept = {"id": "id", "name": "name", "count": "count"}
    renames = {"renames": "id:key", "exclude": "name"}

    assert unchanged_columns("InsertField$Value", {"topic.field": "topic"}, by_arrow) == kept
    assert unchanged_columns("SetSchemaMetadata$Value", {"schema.name": "n"}, by_arrow) == kept
    assert unchanged_columns("ReplaceField$Value", renames, by_arrow) == {"key": "id", "count": "count"}
    assert unchanged_columns("ValueToKey", {"fields": "id"}, by_arrow) == {"id": "id"}
    for name, properties in (("ReplaceField$Value", renames), ("ValueToKey", {"fields": "id,name"})):
        assert {"id", "name"} & set(unchanged_columns(name, properties, form).values())


def test_columns_of_pyarrow_stay_columns_of_pyarrow():
    """SMT-05."""
    stages = (
        ("InsertField$Value", {"topic.field": "topic", "timestamp.field": "ts", "partition.field": "p"}),
        ("ReplaceField$Value", {"exclude": "name"}),
        ("SetSchemaMetadata$Value", {"schema.version": "2"}),
        ("HoistField$Value", {"field": "after"}),
    )
    batch = ProducerBatch("t", by_arrow(SCHEMA, ROWS), None, 0, list(range(1000)), None, None, SCHEMA)

    for name, properties in stages:
        batch = transformation(name, properties).apply_batch(batch)

    assert isinstance(batch.values, StructColumns)
    assert batch.values.by_arrow
    assert batch.values[2]["after"]["id"] == 2


def test_values_that_get_other_topics_are_left_to_each_record():
    """SMT-04."""
    hour = 3_600_000
    router = transformation("TimestampRouter", {"timestamp.format": "HH"})
    batch = ProducerBatch("t", [b""] * 3, timestamps=[0, 5 * hour, 24 * hour])

    with pytest.raises(ValueError, match="several topics"):
        router.apply_batch(batch)


def test_a_value_that_does_not_fit_is_named_by_its_field_and_never_shown():
    """SMT-03."""
    cast = transformation("Cast$Value", {"spec": "name:int8"})
    record = SourceRecord("t", {"id": 1, "name": "secret", "count": 1}, value_schema=SCHEMA)

    with pytest.raises(DataError, match=r"^field 'name': Value was out of range for requested data type$"):
        cast.apply(record)


def test_a_time_of_day_is_one_of_any_day():
    converter = transformation("TimestampConverter$Value", {"target.type": "Time"})
    made = converter.apply(SourceRecord("t", datetime(1969, 12, 31, 23, 0, tzinfo=UTC), value_schema=TIMESTAMP))

    assert (made.value, made.value_schema) == (time(23), TIME)


@pytest.mark.parametrize("target", ["string", "Date", "Timestamp"])
def test_a_number_that_no_calendar_reaches_is_not_shown(target):
    """SMT-03."""
    properties = {"target.type": target, "format": "yyyy", "unix.precision": "seconds"}
    converter = transformation("TimestampConverter$Value", properties)

    with pytest.raises(DataError, match=r"^the timestamp lies beyond the years 1 to 9999$"):
        converter.apply(SourceRecord("t", 2**60 + 7, value_schema=INT64))


@pytest.mark.parametrize(
    ("name", "properties", "column", "wanted"),
    [
        ("Cast$Value", {"spec": "a:boolean"}, pa.array([0, 2, None]), [False, True, None]),
        ("Cast$Value", {"spec": "a:int8"}, pa.array([255, -129, None]), [-1, 127, None]),
        ("Cast$Value", {"spec": "a:string"}, pa.array([True, None]), ["true", None]),
        ("Cast$Value", {"spec": "a:string"}, pa.array([1.0, 1e7, 1e-4]), ["1.0", "1.0E7", "1.0E-4"]),
        ("Cast$Value", {"spec": "a:float32"}, pa.array([0.1, 1e300, None]), [0.10000000149011612, float("inf"), None]),
        ("MaskField$Value", {"fields": "a"}, pa.array([None, 7, 8]), [None, 0, 0]),
        ("MaskField$Value", {"fields": "a", "replacement": "x"}, pa.array([None, "a", ""]), [None, "x", "x"]),
        ("MaskField$Value", {"fields": "a"}, pa.array([None, None], pa.int64()), [None, None]),
    ],
)
def test_arrays_are_cast_and_masked_as_arrays(name, properties, column, wanted):
    """SMT-05."""
    schema = struct({"a": schema_of(column.type).as_optional()})
    values = StructColumns({"a": column}, len(column))

    made = transformation(name, properties).apply_batch(ProducerBatch("t", values, value_schema=schema))

    assert made.values.by_arrow
    assert list(made.values.columns["a"].to_pylist()) == wanted
    single = [SourceRecord("t", one, value_schema=schema) for one in values]
    assert [transformation(name, properties).apply(one).value["a"] for one in single] == wanted
