"""Values of Kafka Connect as messages of Protobuf."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from google.protobuf import message_factory

from eosfw.data import (
    DATE,
    TIME,
    TIMESTAMP,
    Field,
    Schema,
    StructColumns,
    Type,
    decimal_bytes,
    decimal_scale,
    default_of,
    is_arrow,
    millis_since_1970,
)
from eosfw.errors import DataError
from eosfw_schema_registry.protobuf.descriptors import ProtobufRules, message_schema
from eosfw_schema_registry.protobuf.names import (
    DECIMAL_NAME,
    ENUM,
    KEY,
    PROTO_TYPE,
    VALUE,
    is_union,
    part_of,
)

if TYPE_CHECKING:
    import pyarrow as pa

Convert = Callable[[Any], Any]
"""To what the class of a message takes."""


@lru_cache(maxsize=1000)
def encoder(rules: ProtobufRules, schema: Schema) -> MessageEncoder:
    """What writes values of a schema; DataError for what Protobuf cannot say."""
    return MessageEncoder(rules, schema)


class MessageEncoder:
    """Writes values that fit a schema as messages; DataError, without the value, for what Protobuf cannot hold."""

    def __init__(self, rules: ProtobufRules, schema: Schema) -> None:
        self._make = message_factory.GetMessageClass(message_schema(rules, schema).descriptor)
        is_struct = schema.type is Type.STRUCT
        self._fields = _Fields(rules, "").of_struct(schema) if is_struct else _wrapped
        has_unions = any(is_union(one.schema) for one in schema.fields)
        self._columns = None if has_unions or not is_struct else _Fields(rules, "").plans(schema)

    def encode(self, value: Any) -> bytes:
        """The message of a value."""
        with _refusals():
            return bytes(self._make(**self._fields(value)).SerializeToString())

    def encode_columns(self, values: StructColumns) -> list[bytes]:
        """The messages of structs."""
        if self._columns is None:
            return list(map(self.encode, values))
        names = [plan.name for plan in self._columns]
        with _refusals():
            columns = [plan.converted(values.columns[plan.given_name]) for plan in self._columns]
            make = self._make
            rows = zip(*columns, strict=True)
            return [make(**dict(zip(names, row, strict=True))).SerializeToString() for row in rows]


@contextmanager
def _refusals() -> Iterator[None]:
    """Say why Protobuf refuses a value without its words, which may show the value."""
    try:
        yield
    except UnicodeEncodeError:
        raise DataError("a text holds half a character, which UTF-8 cannot write") from None
    except DataError:
        raise
    except (TypeError, ValueError) as why:
        raise DataError(f"Protobuf refuses the value ({type(why).__name__})") from None


def _wrapped(value: Any) -> dict[str, Any]:
    return {VALUE: value}


@dataclass(frozen=True, slots=True)
class _FieldPlan:
    """How one field is written."""

    given_name: str
    name: str
    """As it is in the message."""
    convert: Convert | None
    """None if a value is what the message takes."""
    null: Any
    """What stands for a null, converted; None if it is left out."""
    by_arrow: Callable[[pa.Array], list[Any]] | None
    """What converts a whole column of Arrow."""

    def converted(self, column: Any) -> list[Any]:
        """A whole column."""
        if is_arrow(column):
            if self.by_arrow is not None and self.null is None:
                return self.by_arrow(column)
            column = [one[self.given_name] for one in StructColumns({self.given_name: column}, len(column))]
        if self.convert is None and self.null is None:
            return list(column)
        convert, null = self.convert or _same, self.null
        return [null if one is None else convert(one) for one in column]


class _Fields:
    """Converters of the parts of a schema; `path` is that of the fields around them, for errors."""

    def __init__(self, rules: ProtobufRules, path: str) -> None:
        self._rules = rules
        self._path = path

    def of_struct(self, schema: Schema) -> Convert:
        """The fields of a message, which may be None: then they are missing."""
        plans = self.plans(schema)
        plain = [(one.given_name, one.name) for one in plans if one.convert is None and one.null is None]
        others = [
            (one.given_name, one.name, one.convert or _same, one.null)
            for one in plans
            if one.convert is not None or one.null is not None
        ]
        unions = [(one.name, self._inside(one.name).of_union(one.schema)) for one in schema.fields
                  if is_union(one.schema)]  # fmt: skip
        if not (others or unions) and all(one == name for one, name in plain):
            return _same

        def convert_all(value: Mapping[str, Any]) -> dict[str, Any]:
            made = {name: value[one] for one, name in plain}
            for one, name, convert, null in others:
                part = value[one]
                made[name] = null if part is None else convert(part)
            for one, choose in unions:
                if value[one] is not None:
                    made.update(choose(value[one]))
            return made

        return convert_all

    def plans(self, schema: Schema) -> list[_FieldPlan]:
        """How each field is written, those of oneofs excepted."""
        return [self._plan(one) for one in schema.fields if not is_union(one.schema)]

    def _plan(self, given: Field) -> _FieldPlan:
        convert = self._inside(given.name).of_part(given.schema)
        default = None if self._rules.ignore_default else default_of(given.schema)
        null = default if convert is None or default is None else convert(default)
        by_arrow = _BY_ARROW.get((given.schema.type, given.schema.name))
        return _FieldPlan(given.name, self._rules.name(given.name), convert, null, by_arrow)

    def _inside(self, name: str) -> _Fields:
        return _Fields(self._rules, f"{self._path}.{name}" if self._path else name)

    def of_union(self, schema: Schema) -> Convert:
        """The one field of a oneof that is not null."""
        fields = []
        for one in schema.fields:
            convert = self._inside(one.name).of_part(one.schema, in_oneof=True) or _same
            fields.append((one.name, self._rules.name(one.name), convert))

        def choose(value: Mapping[str, Any]) -> dict[str, Any]:
            for one, name, convert in fields:
                if value[one] is not None:
                    return {name: convert(value[one])}
            raise DataError(f"field {self._path!r}: Cannot find non-null field")

        return choose

    def of_part(self, schema: Schema, *, in_oneof: bool = False) -> Convert | None:
        """The converter of a part that is not null; None if the part is what the message takes."""
        if (logical := _LOGICAL.get((schema.type, schema.name))) is not None:
            return logical(schema)
        if schema.type is Type.ARRAY:
            return self._array(part_of(schema.value_schema))
        if schema.type is Type.MAP:
            return self._map(schema)
        if schema.type is Type.STRUCT:
            fields = self.of_struct(schema)
            return None if fields is _same else fields
        convert = _UNSIGNED.get(schema.parameters.get(PROTO_TYPE, "")) if schema.type is Type.INT64 else None
        if ENUM not in schema.parameters and self._rules.is_wrapped(schema, in_oneof=in_oneof):
            return _wrapped if convert is None else lambda value: _wrapped(convert(value))
        return convert

    def _array(self, schema: Schema) -> Convert:
        convert, path = self.of_part(schema), self._path
        nullable = schema.optional or schema.default is not None

        def convert_all(value: list[Any]) -> list[Any]:
            if nullable and None in value:
                raise DataError(f"field {path!r} has a null in its array, which Protobuf cannot write")
            return value if convert is None else [convert(one) for one in value]

        return convert_all

    def _map(self, schema: Schema) -> Convert:
        key = _or_null(self.of_part(part_of(schema.key_schema)))
        item = _or_null(self.of_part(part_of(schema.value_schema)))
        return lambda value: [{KEY: key(one), VALUE: item(each)} for one, each in value.items()]


def _same(value: Any) -> Any:
    return value


def _or_null(convert: Convert | None) -> Convert:
    return _same if convert is None else lambda value: None if value is None else convert(value)


def _decimal(schema: Schema) -> Convert:
    scale = decimal_scale(schema)

    def convert(value: Decimal) -> dict[str, Any]:
        # As Java's BigDecimal counts them: those of the unscaled number, one for zero.
        precision = len("".join(map(str, value.as_tuple().digits)).lstrip("0")) or 1
        return {"value": decimal_bytes(value, scale), "precision": precision, "scale": scale}

    return convert


def _date(_: Schema) -> Convert:
    def convert(value: date) -> dict[str, int]:
        return {"year": value.year, "month": value.month, "day": value.day}

    return convert


def _time(_: Schema) -> Convert:
    def convert(value: time) -> dict[str, int]:
        nanos = value.microsecond // 1000 * 1_000_000
        return {"hours": value.hour, "minutes": value.minute, "seconds": value.second, "nanos": nanos}

    return convert


def _timestamp(_: Schema) -> Convert:
    def convert(value: datetime) -> dict[str, int]:
        seconds, millis = divmod(millis_since_1970(value), 1000)
        return {"seconds": seconds, "nanos": millis * 1_000_000}

    return convert


def _arrow_dates(column: pa.Array) -> list[Any]:
    import pyarrow.compute as pc

    parts = (part(column).to_pylist() for part in (pc.year, pc.month, pc.day))
    return [None if year is None else {"year": year, "month": month, "day": day}
            for year, month, day in zip(*parts, strict=True)]  # fmt: skip


def _arrow_timestamps(column: pa.Array) -> list[Any]:
    millis = column.cast("timestamp[ms]").cast("int64").to_pylist()
    return [None if one is None else {"seconds": one // 1000, "nanos": one % 1000 * 1_000_000} for one in millis]


_BY_ARROW: Final[Mapping[tuple[Type, str | None], Callable[[pa.Array], list[Any]]]] = {
    (DATE.type, DATE.name): _arrow_dates,
    (TIMESTAMP.type, TIMESTAMP.name): _arrow_timestamps,
}
"""Of what Arrow makes objects slowly."""
_UNSIGNED: Final[Mapping[str, Convert]] = {
    **dict.fromkeys(("uint32", "fixed32"), lambda value: value & 0xFFFFFFFF),
    **dict.fromkeys(("uint64", "fixed64"), lambda value: value & 0xFFFFFFFFFFFFFFFF),
}
"""Java has no unsigned numbers: the same bits."""
_LOGICAL: Final[Mapping[tuple[Type, str | None], Callable[[Schema], Convert]]] = {
    (Type.BYTES, DECIMAL_NAME): _decimal,
    (DATE.type, DATE.name): _date,
    (TIME.type, TIME.name): _time,
    (TIMESTAMP.type, TIMESTAMP.name): _timestamp,
}
