"""Schemas and columns of Arrow."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest

from eosfw.data import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
    StructColumns,
    array,
    arrow_schema_of,
    decimal,
    fitted_values,
    map_of,
    schema_of,
    selected,
    struct,
)
from eosfw.errors import DataError

MOMENT = datetime(1969, 12, 31, 23, 59, 59, 998_999, UTC)
SCHEMA = struct(
    {
        "id": INT32,
        "note": STRING.as_optional(),
        "picture": BYTES,
        "weight": FLOAT32,
        "day": DATE,
        "at": TIME,
        "moment": TIMESTAMP,
        "tags": array(STRING),
        "counts": map_of(STRING, INT64.as_optional()),
        "inner": struct({"a": INT16}),
    }
)


def test_a_schema_of_arrow_made_of_a_schema_gives_that_schema_again() -> None:
    """SCH-02: names, docs and defaults have no place in Arrow."""
    assert schema_of(arrow_schema_of(SCHEMA)) == SCHEMA
    assert arrow_schema_of(schema_of(pa.schema([pa.field("d", pa.decimal128(9, 2))]))).types == [pa.decimal128(9, 2)]


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (pa.uint8(), INT16),
        (pa.uint32(), INT64),
        (pa.dictionary(pa.int8(), pa.string()), STRING),
        (pa.large_string(), STRING),
        (pa.timestamp("ns", "Europe/Berlin"), TIMESTAMP),
        (pa.time64("us"), TIME),
        (pa.date64(), DATE),
        (pa.large_list(pa.field("item", pa.int32(), nullable=False)), array(INT32)),
    ],
)
def test_a_type_that_kafka_connect_does_not_have_becomes_the_next_wider_one(kind: pa.DataType, wanted: object) -> None:
    """SCH-02."""
    assert schema_of(kind) == wanted


@pytest.mark.parametrize("kind", [pa.uint64(), pa.duration("s"), pa.null(), pa.timestamp("us"), pa.decimal256(39)])
def test_a_type_without_counterpart_is_refused_with_the_name_of_its_field(kind: pa.DataType) -> None:
    """SCH-04."""
    with pytest.raises(DataError, match=r"field 'a': .* cast"):
        schema_of(pa.schema([("a", kind)]))


def test_columns_of_other_types_become_those_of_their_schema() -> None:
    """SCH-05: what is below a millisecond is cut off downwards, as it is in single values."""
    batch = pa.record_batch(
        {
            "id": pa.array([1, 2], pa.uint16()),
            "name": pa.array(["a", "a"]).dictionary_encode(),
            "moment": pa.array([MOMENT, None], pa.timestamp("us", "UTC")),
            "at": pa.array([time(1, 2, 3, 4_567), None], pa.time64("us")),
            "day": pa.array([date(2026, 1, 2), None]),
            "price": pa.array([Decimal("1.5"), None], pa.decimal128(5, 2)),
        }
    )
    columns = fitted_values(schema_of(batch.schema), StructColumns.of_arrow(batch))
    assert isinstance(columns, StructColumns)
    assert columns.by_arrow
    assert columns[0] == {
        "id": 1,
        "name": "a",
        "moment": MOMENT.replace(microsecond=998_000),
        "at": time(1, 2, 3, 4_000),
        "day": date(2026, 1, 2),
        "price": Decimal("1.50"),
    }
    assert list(selected(columns, [False, True])) == [columns[1]]


@pytest.mark.parametrize(
    ("schema", "column", "text"),
    [
        (INT16, pa.array([1, 70_000]), "is of Arrow's type int64; its schema wants int16"),
        (STRING, pa.array([1]), "is of Arrow's type int64; its schema wants string"),
        (TIMESTAMP, pa.array([1]), "is of Arrow's type int64; its schema wants timestamp"),
        (INT64, pa.array([1, None]), r"holds nulls, but its schema \(INT64\) is not optional and has no default"),
        (decimal(1), pa.array([Decimal("1.25")]), "its schema wants decimal128"),
    ],
)
def test_a_column_of_arrow_that_does_not_fit_is_refused(schema: object, column: pa.Array, text: str) -> None:
    """SCH-04."""
    with pytest.raises(DataError, match=text):
        fitted_values(struct({"a": schema}), StructColumns({"a": column}, len(column)))  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("schema", "column"),
    [
        (BOOLEAN, pa.array([5])),
        (INT32, pa.array([True])),
        (INT64, pa.array([1.0])),
        (INT64, pa.array([MOMENT], pa.timestamp("ns", "UTC"))),
        (INT32, pa.array([date(2026, 1, 2)])),
        (FLOAT32, pa.array([1e300])),
        (FLOAT64, pa.array([2**53 + 1])),
        (decimal(2), pa.array([2.675])),
        (DATE, pa.array([7], pa.int32())),
        (TIME, pa.array([MOMENT], pa.timestamp("us", "UTC"))),
        (TIMESTAMP, pa.array([MOMENT.replace(tzinfo=None)], pa.timestamp("us"))),
        (array(STRING), pa.array([[1]])),
        (array(FLOAT32), pa.array([[1e300]])),
        (map_of(STRING, BOOLEAN), pa.array([[("a", 2)]], pa.map_(pa.string(), pa.int64()))),
        (struct({"a": INT64.as_optional()}), pa.array([{"b": 1}])),
        (struct({"a": INT64.as_optional()}), pa.array([{"a": 1, "b": 2}])),
    ],
)
def test_no_column_of_arrow_becomes_other_values(schema: Schema, column: pa.Array) -> None:
    """SCH-04: Arrow would make true of 5, infinity of 1E300, a text of any number, and drop fields of structs."""
    with pytest.raises(DataError, match="is of Arrow's type"):
        fitted_values(struct({"a": schema}), StructColumns({"a": column}, 1))


@pytest.mark.parametrize(
    ("schema", "column", "wanted"),
    [
        (FLOAT32, pa.array([1, None]), [1.0, None]),
        (FLOAT32, pa.array([0.5, float("inf")]), [0.5, float("inf")]),
        (FLOAT64, pa.array([1], pa.uint64()), [1.0]),
        (decimal(2), pa.array([7]), [Decimal("7.00")]),
        (BYTES, pa.array([b"ab"], pa.binary(2)), [b"ab"]),
        (array(STRING), pa.array([["a"]], pa.large_list(pa.large_string())), [["a"]]),
        (array(INT64), pa.array([[1]], pa.list_(pa.int8(), 1)), [[1]]),
        (STRING, pa.nulls(1), [None]),
    ],
)
def test_columns_of_types_that_hold_the_same_values_fit(schema: Schema, column: pa.Array, wanted: list[object]) -> None:
    """SCH-05."""
    made = fitted_values(struct({"a": schema.as_optional()}), StructColumns({"a": column}, len(column)))
    assert [one["a"] for one in made] == wanted


def test_columns_of_one_name_are_refused() -> None:
    """SCH-04: a struct would have the last of them alone, also with a schema that names it once."""
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(DataError, match="two columns of a RecordBatch have one name"):
        StructColumns.of_arrow(batch)


def test_maps_in_arrays_are_mappings_as_they_are_in_single_values() -> None:
    """SCH-05: Arrow gives lists of pairs."""
    schema = struct({"m": map_of(STRING, INT64).as_optional(), "a": array(struct({"m": map_of(STRING, INT64)}))})
    rows = [{"m": {"k": 1}, "a": [{"m": {"l": 2}}]}, {"m": None, "a": []}]
    batch = pa.RecordBatch.from_pylist(
        [{"m": [("k", 1)], "a": [{"m": [("l", 2)]}]}, {"m": None, "a": []}], arrow_schema_of(schema)
    )

    made = StructColumns.of_arrow(batch)

    assert list(made) == rows
    assert [made[0], made[1]] == rows
