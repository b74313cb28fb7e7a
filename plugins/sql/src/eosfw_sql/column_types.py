"""Schemas of columns by their types in SQL."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy import types
from sqlalchemy.dialects import mysql

from eosfw.data import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    Schema,
    array,
    decimal,
)
from eosfw_sql.timestamp_forms import timestamp_form

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import time, timedelta, tzinfo

    from sqlalchemy.types import TypeEngine

_WIDTHS: Final = ((2, INT8), (4, INT16), (9, INT32), (18, INT64))
"""Most digits that fit each integer, as Confluent's `NumericMapping` counts them."""
_DOUBLE_DIGITS: Final = 15
_MIDNIGHT: Final = datetime(2000, 1, 1, tzinfo=UTC)
_ALL_DIGITS: Final = Context(prec=1000)
_SINGLE: Final = Struct("<f")
_SINGLE_DIGITS: Final = range(6, 10)
"""With nine digits every float of 32 bits is told from others."""
_INT_NAMES: Final = {"TINYINT": INT8, "MEDIUMINT": INT32}
_WIDER: Final = {INT8: INT16, INT16: INT32, INT32: INT64, INT64: decimal(0)}


class JsonText(str):
    """JSON as the database has it: read and written again, its numbers would be others."""

    __slots__ = ()

    @classmethod
    def of(cls, text: str | bytes) -> JsonText:
        """What a driver gives in the place of a value of JSON."""
        return cls(text.decode() if isinstance(text, bytes) else text)

    def __getitem__(self, key: Any) -> Any:
        """A part of the text, or what it has at a name: SQLAlchemy reads PostgreSQL's collations as JSON, too."""
        return json.loads(self)[key] if isinstance(key, str) else super().__getitem__(key)


class SinglePrecision(types.UserDefinedType[float]):
    """FLOAT of MariaDB and MySQL, of which they show six digits: it is read as a double, and given the fewest digits
    that tell it from others, as PostgreSQL does.
    """

    cache_ok = True

    def column_expression(self, column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        return sa.type_coerce(sa.type_coerce(column, types.Double()) + sa.literal_column("0e0"), self)

    def result_processor(self, dialect: object, coltype: object) -> Callable[[Any], Any]:
        return lambda value: None if value is None else _single(value)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The schema of a column that is never null, and what makes its values of the driver's; None for nothing."""

    schema: Schema
    convert: Callable[[Any], Any] | None = None
    read_as: TypeEngine[Any] | None = None
    """The type by which SQLAlchemy reads it; None for that of the column."""


@dataclass(frozen=True, slots=True)
class TypeRules:
    """What decides about schemas beside the type itself."""

    dialect: str
    numeric_mapping: str
    zone: tzinfo
    granularity: str


def column_type(kind: TypeEngine[Any], rules: TypeRules) -> ColumnType | None:
    """The schema of a type; None for a type that has none here."""
    if isinstance(kind, types.Integer):
        return _integer(kind, rules)
    if isinstance(kind, types.Numeric) and not isinstance(kind, types.Float):
        made = _numeric(kind, rules.numeric_mapping)
        return made if rules.dialect != "sqlite" else _exact(made, kind.scale)
    if isinstance(kind, types.DateTime):
        naive = UTC if isinstance(kind, mysql.TIMESTAMP) else rules.zone
        return ColumnType(*timestamp_form(rules.granularity, rules.zone, naive))
    if isinstance(kind, types.ARRAY):
        return _array(kind, rules)
    if isinstance(kind, mysql.FLOAT | mysql.SET):
        return _of_mysql(kind)
    return next((found for classes, found in _PLAIN if isinstance(kind, classes)), None)


def _of_mysql(kind: mysql.FLOAT | mysql.SET) -> ColumnType:
    if isinstance(kind, mysql.SET):
        return _set(kind)
    return ColumnType(FLOAT64, float, SinglePrecision() if kind.scale is None else None)


def _integer(kind: types.Integer, rules: TypeRules) -> ColumnType:
    if rules.dialect == "sqlite":  # every integer of SQLite has up to 64 bits
        return ColumnType(INT64)
    name = type(kind).__name__.upper()
    if isinstance(kind, types.BigInteger):
        schema = INT64
    elif isinstance(kind, types.SmallInteger):
        schema = INT16
    else:
        schema = _INT_NAMES.get(name, INT32)
    if not getattr(kind, "unsigned", False):
        return ColumnType(schema)
    wider = _WIDER[schema]
    return ColumnType(wider, _decimal_of_whole if schema is INT64 else None)


def _numeric(kind: types.Numeric[Any], mapping: str) -> ColumnType:
    scale, precision = kind.scale, kind.precision
    if scale is None:
        # Any number of digits behind the point: no Decimal of Connect has that.
        return ColumnType(STRING, _text)
    if mapping != "none" and scale == 0 and precision is not None:
        fitting = next((schema for digits, schema in _WIDTHS if precision <= digits), None)
        if fitting is not None:
            return ColumnType(fitting, int)
    if mapping == "best_fit" and precision is not None and precision <= _DOUBLE_DIGITS:
        return ColumnType(FLOAT64, float)
    return ColumnType(decimal(scale))


def _exact(made: ColumnType, scale: int | None) -> ColumnType:
    """The same of numbers of SQLite, of which SQLAlchemy makes floats, though they may be whole numbers of 64 bits."""
    convert = made.convert or (lambda value: value)

    def exact(value: Any) -> Any:
        number = Decimal(value) if isinstance(value, int) else Decimal(repr(float(value)))
        return convert(number if scale is None else number.quantize(Decimal(1).scaleb(-scale), context=_ALL_DIGITS))

    return ColumnType(made.schema, exact, types.NullType())


def _set(kind: mysql.SET) -> ColumnType:
    """A SET as the server writes it: its members in the order of the column's definition."""
    members = tuple(kind.values)
    return ColumnType(STRING, lambda value: ",".join(one for one in members if one in value))


def _decimal_of_whole(value: int) -> Decimal:
    return Decimal(value)


def _single(value: float) -> float:
    shorter = (float(f"{value:.{digits}g}") for digits in _SINGLE_DIGITS)
    return next(one for one in shorter if _SINGLE.pack(one) == _SINGLE.pack(value))


def _text(value: Any) -> str:
    """The text that a value is; TypeError for what Python would show in its own way."""
    if isinstance(value, bytes | bytearray | memoryview | list):
        raise TypeError(value)
    return str(value)


def _bytes(value: Any) -> bytes:
    """The bytes that a value is; TypeError for a number, of which Python would make as many zeros."""
    if isinstance(value, int):
        raise TypeError(value)
    return bytes(value)


def _boolean(value: Any) -> bool:
    """What a number says; TypeError for others, of which Python takes the text `false` for true."""
    if not isinstance(value, int | float):
        raise TypeError(value)
    return bool(value)


def _date(value: Any) -> date:
    """A date; TypeError for the text that drivers give in the place of one that Python does not have."""
    if not isinstance(value, date):
        raise TypeError(value)
    return value


def _array(kind: types.ARRAY[Any], rules: TypeRules) -> ColumnType | None:
    item = column_type(kind.item_type, rules)
    if item is None:
        return None
    convert = item.convert
    schema = array(item.schema.as_optional())
    if convert is None:
        return ColumnType(schema)
    return ColumnType(schema, lambda values: [None if one is None else convert(one) for one in values])


def _time_of_day(value: timedelta) -> time:
    """The time of day that a TIME is; ValueError for one below zero or of more than a day."""
    if value.days:
        raise ValueError(value)
    return (_MIDNIGHT + value).time()


def _in_utc(value: time) -> time:
    return value if value.tzinfo is None else datetime.combine(_MIDNIGHT, value).astimezone(UTC).time()


def _json_text(value: Any) -> str:
    return str(value) if isinstance(value, JsonText) else json.dumps(value)


_PLAIN: Final[tuple[tuple[type[TypeEngine[Any]] | tuple[type[TypeEngine[Any]], ...], ColumnType], ...]] = (
    (types.Boolean, ColumnType(BOOLEAN, _boolean, types.NullType())),  # SQLAlchemy takes each text for true
    (types.Float, ColumnType(FLOAT64, float)),
    (types.Date, ColumnType(DATE, _date)),
    (mysql.TIME, ColumnType(TIME, _time_of_day, types.NullType())),  # SQLAlchemy leaves out days and sign
    (types.Time, ColumnType(TIME, _in_utc)),
    (mysql.YEAR, ColumnType(INT16)),
    (mysql.BIT, ColumnType(INT64)),
    (types.JSON, ColumnType(STRING, _json_text)),
    # SQLAlchemy makes bytes of numbers, too.
    (types._Binary, ColumnType(BYTES, _bytes, types.NullType())),  # noqa: SLF001 - what BLOB and BYTEA have in common
    (types.Enum, ColumnType(STRING, _text, types.String())),  # else labels that were added since are refused
    ((types.String, types.Uuid), ColumnType(STRING, _text)),
)
"""Types that need no look at their parameters."""
