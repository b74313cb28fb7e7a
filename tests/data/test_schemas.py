"""Schemas: what makes two equal, what is refused, how schemas follow from types of Python."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Annotated, NotRequired, TypedDict

import pytest

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
    Field,
    Schema,
    Type,
    array,
    dataclass_of,
    decimal,
    map_of,
    schema_of,
    struct,
)
from eosfw.errors import DataError


@dataclass
class Line:
    product: str
    amount: int = 1


class Address(TypedDict):
    street: str
    house: NotRequired[int]


@dataclass
class Order:
    id: Annotated[int, INT32]
    price: Annotated[Decimal, decimal(2)]
    lines: list[Line]
    address: Address
    notes: dict[str, str | None]
    day: date
    at: time
    moment: datetime
    paid: bool
    weight: float
    picture: bytes | None = None
    kind: str = "new"


LINE = struct({"product": STRING, "amount": replace(INT64, default=1)}, name="Line")
ORDER = struct(
    {
        "id": INT32,
        "price": decimal(2),
        "lines": array(LINE),
        "address": struct({"street": STRING, "house": INT64.as_optional()}, name="Address"),
        "notes": map_of(STRING, STRING.as_optional()),
        "day": DATE,
        "at": TIME,
        "moment": TIMESTAMP,
        "paid": BOOLEAN,
        "weight": FLOAT64,
        "picture": BYTES.as_optional(),
        "kind": replace(STRING, default="new"),
    },
    name="Order",
)


def test_a_dataclass_a_typed_dict_and_their_parts_have_the_schema_that_their_annotations_say() -> None:
    """SCH-02: `Order` is made of a schema's every kind."""
    assert schema_of(Order) == ORDER
    assert schema_of(Address) == ORDER.field("address")
    assert schema_of(list[int] | None) == array(INT64).as_optional()


def test_a_dataclass_made_of_a_schema_has_that_schema_again() -> None:
    """SCH-02: and so on for its parts."""
    assert schema_of(dataclass_of(ORDER)) == ORDER


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Decimal, "a Decimal needs its scale: write Annotated[Decimal, decimal(2)]"),
        (int | str, "int | str may be of several types, and a schema has one"),
        (object, "object has no schema"),
        (tuple[int, str], "tuple[int, str] has elements of several types; say list[...] or use a dataclass"),
    ],
)
def test_a_type_without_a_schema_is_refused_in_a_sentence(kind: object, text: str) -> None:
    with pytest.raises(DataError) as refused:
        schema_of(kind)
    assert str(refused.value) == text


def test_a_field_without_a_schema_is_named_with_its_path() -> None:
    @dataclass
    class Inner:
        what: complex

    @dataclass
    class Outer:
        inner: Annotated[Inner, "no schema"]

    Outer.__annotations__["inner"] = Inner
    Inner.__annotations__["what"] = complex
    with pytest.raises(DataError, match=r"field 'inner\.what': complex has no schema"):
        schema_of(Outer)


CHANGES = {
    "type": INT64,
    "optional": INT32.as_optional(),
    "default": replace(INT32, default=3),
    "name": replace(INT32, name="n"),
    "version": replace(INT32, version=2),
    "doc": replace(INT32, doc="what it is"),
    "parameters": replace(INT32, parameters={"a": "b"}),
}


@pytest.mark.parametrize("other", CHANGES.values(), ids=CHANGES)
def test_schemas_are_equal_if_all_that_they_say_is_equal(other: Schema) -> None:
    """SCH-01: in every part."""
    again = Schema(other.type, other.optional, other.default, other.name, other.version, other.doc, other.parameters)
    assert other != INT32
    assert again == other
    assert hash(again) == hash(other)
    assert pickle.loads(pickle.dumps(other)) == other


@dataclass
class Outer:
    """A class with a default that fits no schema, within a field."""

    inner: Inner


@dataclass
class Inner:
    count: int = "many"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: replace(INT32, default="canary"), "it is of type str; its schema wants INT32"),
        (lambda: replace(INT32, default=2**31), "it is a number beyond the 32 bits of INT32"),
        (lambda: replace(LINE, default={"amount": 1}), "field 'product' is null, but its schema (STRING) is not"),
        (lambda: Schema(Type.ARRAY, default=["canary"], value_schema=INT32), "field '0' is of type str; its schema"),
        (lambda: schema_of(Outer), "field 'inner.count': the default of a schema of type INT64 does not fit it: it is"),
    ],
)
def test_a_default_that_does_not_fit_is_refused_when_the_schema_is_made(make: Callable[[], Schema], text: str) -> None:
    """SCH-12: with the path of the field, never with the value."""
    with pytest.raises(DataError) as refused:
        make()
    assert text in str(refused.value)
    assert "canary" not in str(refused.value)


def test_defaults_that_are_written_differently_make_different_schemas() -> None:
    """SCH-01: what is made once for a schema would else be that of the other one."""
    assert replace(FLOAT64, default=0.0) != replace(FLOAT64, default=-0.0)


def test_structs_are_equal_if_their_fields_are_equal_in_their_order() -> None:
    """SCH-01."""
    assert struct({"a": INT32, "b": STRING}) == struct([Field("a", INT32), Field("b", STRING)])
    assert struct({"a": INT32, "b": STRING}) != struct({"b": STRING, "a": INT32})
    assert array(INT32) != array(INT64)
    assert map_of(STRING, INT32) != map_of(INT32, INT32)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: struct([Field("a", INT32), Field("a", STRING)]), "two fields of the schema struct have one name"),
        (lambda: Schema(Type.ARRAY), "a schema of type ARRAY needs the schema of its values"),
        (lambda: Schema(Type.MAP, value_schema=INT32), "a schema of type MAP needs the schemas of its keys and values"),
        (lambda: Schema(Type.INT8, fields=(Field("a", INT32),)), "a schema of type INT8 has no fields"),
    ],
)
def test_a_schema_whose_parts_contradict_each_other_is_refused(make: object, text: str) -> None:
    """SCH-01."""
    with pytest.raises(DataError) as refused:
        make()  # type: ignore[operator]
    assert str(refused.value) == text


def test_every_logical_type_has_connects_name_and_version() -> None:
    """SCH-01: readers in Java know them by these."""
    assert [one.name for one in (decimal(3), DATE, TIME, TIMESTAMP)] == [
        f"org.apache.kafka.connect.data.{name}" for name in ("Decimal", "Date", "Time", "Timestamp")
    ]
    assert [one.version for one in (decimal(3), DATE, TIME, TIMESTAMP)] == [1] * 4
    assert dict(decimal(3).parameters) == {"scale": "3"}
    assert FLOAT32.type is Type.FLOAT32
