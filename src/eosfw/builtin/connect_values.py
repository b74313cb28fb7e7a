"""Texts read as values with a schema (Kafka Connect's `Values.parseString`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, time
from typing import Any

from eosfw.builtin.java.numbers import decimal_of, single, wrapped
from eosfw.builtin.java.simple_date_format import SimpleDateFormat
from eosfw.builtin.java.times import date_of, time_of, timestamp_of
from eosfw.data import (
    BOOLEAN,
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
    SchemaAndValue,
    Type,
    array,
    decimal,
    map_of,
)
from eosfw.errors import DataError

__all__ = ["parse_string"]

_TOKEN = re.compile(r'[:,{}\[\]"]|(?:\\.|[^:,{}\[\]"\\]|\\\Z)+', re.DOTALL)
_INTEGERS = ((8, INT8), (16, INT16), (32, INT32), (64, INT64))
_TEMPORAL = {
    10: (DATE, SimpleDateFormat("yyyy-MM-dd"), date_of),
    13: (TIME, SimpleDateFormat("HH:mm:ss.SSS'Z'"), time_of),
    24: (TIMESTAMP, SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"), timestamp_of),
}
"""By the length of the text."""
_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
_MOST_DIGITS = 10_000
_NULL = SchemaAndValue(None, None)


def parse_string(text: str) -> SchemaAndValue:
    """A text as what it looks like: null, a boolean, the narrowest number, a date, time or timestamp in UTC, an array
    or map of such, else a string. An array or map whose parts have no type in common has no schema.
    """
    return SchemaAndValue(STRING, text) if not text else _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    def whole(self) -> SchemaAndValue:
        """The text as one value."""
        found = self._literal(whole=True) or self._container()
        if found is not None:
            return found
        token = self._next()
        if not token.strip():
            return SchemaAndValue(STRING, token)
        return self._scalar(token.strip()) or SchemaAndValue(STRING, self._text)

    def _part(self) -> SchemaAndValue:
        """An element of an array, or a key or value of a map; DataError for what is none."""
        if self._take('"'):
            return self._quoted()
        found = self._literal(whole=False) or self._container()
        if found is not None:
            return found
        token = self._next()
        if not token.strip():
            return SchemaAndValue(STRING, token)
        found = self._scalar(token.strip())
        if found is None:
            raise DataError("Failed to parse embedded value")
        return found

    def _literal(self, *, whole: bool) -> SchemaAndValue | None:
        start = self._at
        for word, meant in (("null", _NULL), ("true", SchemaAndValue(BOOLEAN, True)),
                            ("false", SchemaAndValue(BOOLEAN, False))):  # fmt: skip
            if self._take(word) and not (whole and self._more()):
                return meant
            self._at = start
        return None

    def _container(self) -> SchemaAndValue | None:
        """An array or a map; None if none begins here, or if it does not go on as one."""
        start = self._at
        try:
            if self._take("["):
                return self._array()
            if self._take("{"):
                return self._map()
        except DataError:
            self._at = start
        return None

    def _array(self) -> SchemaAndValue:
        parts: list[SchemaAndValue] = []
        while self._more():
            if self._take("]"):
                return _array_of(parts)
            if self._take(","):
                raise DataError("Unable to parse an empty array element")
            parts.append(self._part())
            if not self._next_is("]") and not self._take(","):
                raise DataError("Array elements missing ',' delimiter")
        raise DataError("Array is missing terminating ']'")

    def _map(self) -> SchemaAndValue:
        keys: list[SchemaAndValue] = []
        values: list[SchemaAndValue] = []
        while self._more():
            if self._take("}"):
                return _map_of(keys, values)
            if self._take(","):
                raise DataError("Unable to parse a map entry with no key or value")
            keys.append(self._part())
            if keys[-1].value is None or not self._take(":"):
                raise DataError("Map entry is missing a key or its ':'")
            values.append(self._part())
            self._take(",")
        raise DataError("Map is missing terminating '}'")

    def _quoted(self) -> SchemaAndValue:
        parts = []
        while self._more() and not self._take('"'):
            parts.append(self._next())
        text = "".join(parts)
        return _temporal(text) or SchemaAndValue(STRING, text)

    def _scalar(self, token: str) -> SchemaAndValue | None:
        if token[0].isdecimal():
            # The colons of a time are tokens of their own.
            longer = self._tokens[self._at : self._at + 4]
            found = _temporal(token + "".join(longer)) if len(longer) == 4 else None
            if found is not None:
                self._at += 4
                return found
            found = _temporal(token)
            if found is not None:
                return found
        return _number(token) if token[0].isdecimal() or token[0] in "+-" else None

    def _more(self) -> bool:
        return self._at < len(self._tokens)

    def _next(self) -> str:
        if not self._more():
            raise DataError("the text ends too early")
        token: str = self._tokens[self._at]
        self._at += 1
        return token

    def _next_is(self, wanted: str) -> bool:
        if not self._more():
            return False
        while not self._tokens[self._at].strip() and self._at + 1 < len(self._tokens):
            self._at += 1
        return bool(self._tokens[self._at].strip() == wanted)

    def _take(self, wanted: str) -> bool:
        found = self._next_is(wanted)
        self._at += found
        return found


def _temporal(text: str) -> SchemaAndValue | None:
    text = text.replace("\\:", ":")
    if len(text) not in _TEMPORAL:
        return None
    schema, form, make = _TEMPORAL[len(text)]
    try:
        return SchemaAndValue(schema, make(form.parse(text)))
    except ValueError:
        return None


def _number(token: str) -> SchemaAndValue | None:
    try:
        number = decimal_of(token)
    except ValueError:
        return None
    if number and abs(number.adjusted()) > _MOST_DIGITS:
        return None
    exponent = int(number.as_tuple().exponent)
    if number == int(number):
        for bits, schema in _INTEGERS:
            if wrapped(int(number), bits) == number:
                return SchemaAndValue(schema, int(number))
    if exponent and abs(single(number)) != float("inf"):
        return SchemaAndValue(FLOAT32, single(number))
    if exponent and abs(float(number)) != float("inf"):
        return SchemaAndValue(FLOAT64, float(number))
    return SchemaAndValue(decimal(-exponent), number)


def _array_of(parts: Sequence[SchemaAndValue]) -> SchemaAndValue:
    common = _common(parts)
    if common is None:
        return SchemaAndValue(None, [one.value for one in parts])
    return SchemaAndValue(array(common), [_converted(common, one.value) for one in parts])


def _map_of(keys: Sequence[SchemaAndValue], values: Sequence[SchemaAndValue]) -> SchemaAndValue:
    of_keys, of_values = _common(keys), _common(values)
    pairs: Mapping[Any, Any] = {key.value: one.value for key, one in zip(keys, values, strict=True)}
    if of_keys is not None:
        pairs = {_converted(of_keys, key): one for key, one in pairs.items()}
    if of_keys is None or of_values is None:
        return SchemaAndValue(None, pairs)
    return SchemaAndValue(map_of(of_keys, of_values), {key: _converted(of_values, one) for key, one in pairs.items()})


def _common(parts: Sequence[SchemaAndValue]) -> Schema | None:
    """The schema of all parts that are not null; None if they have none in common."""
    found: Schema | None = None
    kind: Type | None = None
    for schema, value in parts:
        if value is None:
            continue
        other = _kind(schema, value)
        if kind is None or kind is other:
            found, kind = schema or found, other
        elif found is not None and schema is not None and kind in _NUMBERS and other in _NUMBERS:
            found = max(found, schema, key=lambda one: _NUMBERS.index(one.type))
            kind = found.type
        else:
            return None
    return found


def _kind(schema: Schema | None, value: Any) -> Type:
    """The type of a part; an array or map that is empty, or of mixed parts, has no schema."""
    if schema is None:
        return Type.ARRAY if isinstance(value, list) else Type.MAP
    return schema.type


def _converted(schema: Schema, value: Any) -> Any:
    if value is None:
        raise DataError("Unable to convert a null value to a schema that requires a value")
    if isinstance(value, (date, time)) or schema.name in (DATE.name, TIME.name, TIMESTAMP.name):
        if isinstance(value, (date, time)) and schema.name is not None:
            return value
        raise DataError("a moment is no number")
    if schema.type is Type.FLOAT32:
        return single(value)
    return float(value) if schema.type is Type.FLOAT64 else value
