"""Values of Kafka Connect as messages of Protobuf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from google.protobuf import message_factory

from eosfw.data import (
    DATE,
    TIME,
    TIMESTAMP,
    Schema,
    Type,
    decimal_bytes,
    decimal_scale,
    default_of,
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

Convert = Callable[[Any], Any]
"""To what the class of a message takes."""
Encode = Callable[[Any], bytes]


@lru_cache(maxsize=1000)
def encoder(rules: ProtobufRules, schema: Schema) -> Encode:
    """Writes values that fit a schema as messages; DataError, without the value, for what Protobuf cannot hold."""
    make = message_factory.GetMessageClass(message_schema(rules, schema).descriptor)
    fields = _Fields(rules, "").of_struct(schema) if schema.type is Type.STRUCT else _wrapped

    def encode(value: Any) -> bytes:
        try:
            return bytes(make(**fields(value)).SerializeToString())
        except UnicodeEncodeError:
            raise DataError("a text holds half a character, which UTF-8 cannot write") from None
        except DataError:
            raise
        except (TypeError, ValueError) as why:
            # Its text may show the value.
            raise DataError(f"Protobuf refuses the value ({type(why).__name__})") from None

    return encode


def _wrapped(value: Any) -> dict[str, Any]:
    return {VALUE: value}


class _Fields:
    """Converters of the parts of a schema; `path` is that of the fields around them, for errors."""

    def __init__(self, rules: ProtobufRules, path: str) -> None:
        self._rules = rules
        self._path = path

    def of_struct(self, schema: Schema) -> Convert:
        """The fields of a message, which may be None: then they are missing."""
        plain: list[tuple[str, str]] = []
        others: list[tuple[str, str, Convert, Any]] = []
        unions: list[tuple[str, Convert]] = []
        for one in schema.fields:
            name = self._rules.name(one.name)
            inside = _Fields(self._rules, f"{self._path}.{one.name}" if self._path else one.name)
            if is_union(one.schema):
                unions.append((one.name, inside.of_union(one.schema)))
                continue
            convert = inside.of_part(one.schema)
            default = None if self._rules.ignore_default else default_of(one.schema)
            if convert is None and default is None:
                plain.append((one.name, name))
            else:
                null = default if convert is None or default is None else convert(default)
                others.append((one.name, name, convert or _same, null))
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

    def of_union(self, schema: Schema) -> Convert:
        """The one field of a oneof that is not null."""
        fields = []
        for one in schema.fields:
            convert = _Fields(self._rules, f"{self._path}.{one.name}").of_part(one.schema, in_oneof=True) or _same
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
