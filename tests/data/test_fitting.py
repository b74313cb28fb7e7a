"""Values and their schemas: the one form of what fits, the refusal of what does not."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.data import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
    StructColumns,
    array,
    decimal,
    default_of,
    fitted,
    fitted_values,
    map_of,
    schema_of,
    struct,
)
from eosfw.data.logical import decimal_bytes, decimal_of
from eosfw.errors import DataError

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)
POINT = struct({"x": INT32, "y": INT64.as_optional()}, name="Point")
NAMED = namedtuple("NAMED", "y x")  # noqa: PYI024 without types, as a database's driver makes them


@dataclass
class Point:
    x: int
    y: int | None = None


class Kind(StrEnum):
    NEW = "new"


class Level(IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        (INT8, -128, -128),
        (INT64, Level.HIGH, 3),
        (FLOAT64, 3, 3.0),
        (FLOAT32, 0.1, 0.10000000149011612),
        (STRING, Kind.NEW, "new"),
        (BYTES, bytearray(b"ab"), b"ab"),
        (BYTES, memoryview(b"ab"), b"ab"),
        (decimal(2), Decimal("1.5"), Decimal("1.50")),
        (decimal(2), 7, Decimal("7.00")),
        (decimal(2), Decimal("1.500"), Decimal("1.50")),
        (decimal(-2), Decimal(1200), Decimal("12E+2")),
        (TIMESTAMP, MOMENT + timedelta(microseconds=999), MOMENT),
        (TIMESTAMP, MOMENT.astimezone(timezone(timedelta(hours=2))), MOMENT),
        (TIME, time(1, 2, 3, 4_567), time(1, 2, 3, 4_000)),
        (DATE, date(2026, 1, 2), date(2026, 1, 2)),
        (array(INT32), (1, 2), [1, 2]),
        (map_of(STRING, INT32), {"a": 1}, {"a": 1}),
        (POINT, {"x": 1}, {"x": 1, "y": None}),
        (POINT, {"y": 2, "x": 1}, {"x": 1, "y": 2}),
        (POINT, Point(1, 2), {"x": 1, "y": 2}),
        (POINT, NAMED(2, 1), {"x": 1, "y": 2}),
        (POINT, (1, 2), {"x": 1, "y": 2}),
        (POINT, [1, None], {"x": 1, "y": None}),
        (replace(INT32, default=5), None, None),
        (INT32.as_optional(), None, None),
    ],
)
def test_a_value_that_fits_has_one_form_however_a_task_gives_it(schema: Schema, value: Any, wanted: Any) -> None:
    """SCH-03: types of Python and of Connect."""
    made = fitted(schema, value)
    assert made == wanted
    assert type(made) is type(wanted)
    assert not isinstance(made, dict) or list(made) == list(wanted)


NAME_OF = {"Decimal": "org.apache.kafka.connect.data.Decimal", "Timestamp": "org.apache.kafka.connect.data.Timestamp"}


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (INT32, "secret", "it is of type str; its schema wants INT32"),
        (INT32, True, "it is of type bool; its schema wants INT32"),
        (INT8, 128, "it is a number beyond the 8 bits of INT8"),
        (INT32, 1.0, "it is of type float; its schema wants INT32"),
        (FLOAT64, "1", "it is of type str; its schema wants FLOAT64"),
        (FLOAT32, 1e300, "it is a number beyond the 32 bits of FLOAT32"),
        (FLOAT64, 2**53 + 1, "it is a whole number that no FLOAT64 is exactly"),
        (FLOAT32, 2**24 + 1, "it is a whole number that no FLOAT32 is exactly"),
        (FLOAT64, 10**400, "it is a number beyond the 64 bits of FLOAT64"),
        (BOOLEAN, 1, "it is of type int; its schema wants BOOLEAN"),
        (STRING, b"secret", "it is of type bytes; its schema wants STRING"),
        (STRING, None, "it is null, but its schema (STRING) is not optional and has no default"),
        (BYTES, "secret", "it is of type str; its schema wants BYTES"),
        (array(INT32), "secret", "it is of type str; its schema wants ARRAY"),
        (array(INT32), [1, "secret"], "field '1' is of type str; its schema wants INT32"),
        (map_of(STRING, INT32), {"secret": "b"}, "field '0' is of type str; its schema wants INT32"),
        (POINT, {"x": 1, "z": 2, "y": 3}, "it has fields that its schema does not: 'z'"),
        (POINT, {"y": 1}, "field 'x' is null, but its schema (INT32) is not optional and has no default"),
        (POINT, (1,), "it is a row of 1 values; its schema (STRUCT, Point) has 2"),
        (struct({"p": array(POINT)}), {"p": [{"x": "secret"}]}, "field 'p.0.x' is of type str; its schema wants INT32"),
        (decimal(1), Decimal("1.25"), "it has more digits behind the point than the scale 1 of its schema"),
        (decimal(1), Decimal("NaN"), f"it is no finite number; its schema wants BYTES, {NAME_OF['Decimal']}"),
        (decimal(1), Decimal("1E+99999999"), "it would have more than 10000 digits at the scale 1 of its schema"),
        (decimal(1), 1.5, f"it is of type float; its schema wants BYTES, {NAME_OF['Decimal']}"),
        (DATE, MOMENT, "it is of type datetime; its schema wants INT32, org.apache.kafka.connect.data.Date"),
        (TIME, time(1, tzinfo=UTC), "it is a time with a time zone; its schema wants one without"),
        (TIMESTAMP, 12, f"it is of type int; its schema wants INT64, {NAME_OF['Timestamp']}"),
        (
            TIMESTAMP,
            MOMENT.replace(tzinfo=None),
            "it is a datetime without time zone, so no moment: give it one, such as datetime.UTC",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_path_and_types_and_never_shown(
    schema: Schema, value: Any, text: str
) -> None:
    """SCH-04: the text is about types alone."""
    with pytest.raises(DataError) as refused:
        fitted(schema, value)
    assert str(refused.value) == text
    assert "secret" not in str(refused.value)


def test_a_default_has_the_form_of_values() -> None:
    """SCH-04."""
    assert default_of(replace(decimal(2), default=Decimal(1))) == Decimal("1.00")
    assert default_of(STRING) is None


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3))
def test_the_bytes_of_a_decimal_give_the_same_number_again(number: Decimal) -> None:
    """SCH-03: as Java's BigInteger writes them, the shortest."""
    data = decimal_bytes(fitted(decimal(3), number), 3)
    assert decimal_of(data, 3) == number
    assert len(data) == 1 or data[:2] not in (b"\0\0", b"\xff\xff")


FIELDS = {
    "small": (INT16, st.integers(-(2**15), 2**15 - 1)),
    "wide": (INT64.as_optional(), st.none() | st.integers(-(2**63), 2**63 - 1)),
    "text": (STRING, st.text()),
    "real": (FLOAT64, st.floats(allow_nan=False)),
    "flag": (replace(BOOLEAN, default=True), st.none() | st.booleans()),
    "data": (BYTES, st.binary()),
    "list": (array(INT32), st.lists(st.integers(0, 9))),
    "price": (decimal(2), st.integers(0, 9)),
}
WIDE = struct({name: schema for name, (schema, _) in FIELDS.items()})
ROWS = st.lists(st.fixed_dictionaries({name: values for name, (_, values) in FIELDS.items()}), min_size=1)
SHAPES = (
    lambda rows: rows,
    lambda rows: [tuple(row[name] for name in FIELDS) for row in rows],
    lambda rows: [dict(reversed(row.items())) for row in rows],
    lambda rows: [{name: value for name, value in row.items() if value is not None} for row in rows],
)


@given(ROWS, st.sampled_from(SHAPES))
def test_columns_hold_what_each_struct_by_itself_would_be(rows: Sequence[dict[str, Any]], shape: Any) -> None:
    """SCH-05: however the structs are given."""
    shaped = shape(rows)
    assert list(fitted_values(WIDE, shaped)) == [fitted(WIDE, row) for row in shaped]


@given(ROWS, st.data())
def test_one_value_that_does_not_fit_is_found_in_its_column(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    """SCH-05: the check of a column is no weaker than that of a value."""
    at, name = data.draw(st.integers(0, len(rows) - 1)), data.draw(st.sampled_from(list(FIELDS)))
    rows[at][name] = data.draw(st.sampled_from([object(), 2**70, -(2**70), {1}]))
    if name in ("real", "price") and isinstance(rows[at][name], int):
        return
    with pytest.raises(DataError):
        fitted_values(WIDE, rows)


def test_columns_are_a_sequence_of_structs() -> None:
    """SCH-05."""
    columns = fitted_values(schema_of(Point), [Point(1, 2), Point(3)])
    assert isinstance(columns, StructColumns)
    assert list(columns) == [{"x": 1, "y": 2}, {"x": 3, "y": None}]
    assert columns[1] == {"x": 3, "y": None}
    assert list(columns[1:]) == [{"x": 3, "y": None}]
    assert len(columns[5:]) == 0


def test_structs_one_of_which_is_null_are_no_columns() -> None:
    """SCH-05: columns cannot say that a struct is null."""
    assert fitted_values(POINT.as_optional(), [{"x": 1}, None]) == [{"x": 1, "y": None}, None]
