"""Whether values fit a schema, and the one form in which the framework passes them on.

A task may give a struct as a mapping, an instance of a dataclass, a named tuple or a row (a tuple or list with one
entry for each field). Behind its poll every struct is a `dict` with all fields in the schema's order, so that
transformations and converters know one form alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import lru_cache
from numbers import Integral, Real
from operator import index
from typing import Any

from eosfw.data.logical import DATE, DECIMAL_NAME, TIME, TIMESTAMP, decimal_scale
from eosfw.data.schema import Schema, Type
from eosfw.errors import DataError
from eosfw.text import type_name

__all__ = ["INTEGER_LIMITS", "Fitter", "default_of", "fitted", "fitter"]

Fitter = Callable[[Any], Any]
"""Takes a value that a task gave and returns it in the framework's form; DataError if it does not fit."""
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
INTEGER_LIMITS = {kind: (-(1 << bits - 1), (1 << bits - 1) - 1) for kind, bits in _BITS.items()}
"""The smallest and the greatest number of each type of whole numbers."""
_SINGLE = struct.Struct("<f")
_MOST_DIGITS = 10_000
"""So that a number such as 1E+999999999 cannot fill the memory."""


def fitted(schema: Schema, value: Any) -> Any:
    """The value in the framework's form; DataError with the path of the field, the wanted and the found type if not."""
    return fitter(schema)(value)


def default_of(schema: Schema) -> Any:
    """The default of a schema in the framework's form, or None; DataError if it does not fit its own schema."""
    if schema.default is None:
        return None
    return fitted(replace(schema, default=None, optional=False), schema.default)


@lru_cache(maxsize=1000)
def fitter(schema: Schema) -> Fitter:
    """What `fitted` does for one schema: made once, since a source has few schemas and many records."""
    fit = _fit_one(schema)

    def checked(value: Any) -> Any:
        try:
            return fit(value)
        except _MismatchError as why:
            raise DataError(why.text()) from None

    return checked


class _MismatchError(Exception):
    """A value does not fit; containers add their part of the path on the way out."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.path: list[str] = []

    def under(self, part: object) -> _MismatchError:
        self.path.insert(0, str(part))
        return self

    def text(self) -> str:
        place = f"field {'.'.join(self.path)!r}" if self.path else "it"
        return f"{place} {self.why}"


def _unfit(schema: Schema, value: Any) -> _MismatchError:
    wanted = _shown(schema)
    if value is None:
        return _MismatchError(f"is null, but its schema ({wanted}) is not optional and has no default")
    return _MismatchError(f"is of type {type_name(value)}; its schema wants {wanted}")


def _shown(schema: Schema) -> str:
    return schema.type.name if schema.name is None else f"{schema.type.name}, {schema.name}"


def _fit_one(schema: Schema) -> Fitter:
    """The fitter of a schema, null included; raises _MismatchError."""
    fit = _LOGICAL.get((schema.type, schema.name), _KINDS[schema.type])(schema)
    if not schema.optional and schema.default is None:
        return fit

    def nullable(value: Any) -> Any:
        return None if value is None else fit(value)

    return nullable


def _integer(schema: Schema) -> Fitter:
    bits = _BITS[schema.type]
    low, high = INTEGER_LIMITS[schema.type]

    def fit(value: Any) -> int:
        if type(value) is not int:
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise _unfit(schema, value)
            value = index(value)
        number: int = value
        if not low <= number <= high:
            raise _MismatchError(f"is a number beyond the {bits} bits of {_shown(schema)}")
        return number

    return fit


def _float(schema: Schema) -> Fitter:
    def fit(value: Any) -> float:
        if type(value) is float:
            return value
        if isinstance(value, bool) or not isinstance(value, Real):
            raise _unfit(schema, value)
        try:
            return _unless_rounded(schema, value, float(value))
        except OverflowError:
            raise _MismatchError(f"is a number beyond the 64 bits of {_shown(Schema(Type.FLOAT64))}") from None

    def fit_single(value: Any) -> float:
        try:  # what no single number holds exactly is the nearest one
            return _unless_rounded(schema, value, _SINGLE.unpack(_SINGLE.pack(fit(value)))[0])
        except OverflowError:
            raise _MismatchError(f"is a number beyond the 32 bits of {_shown(schema)}") from None

    return fit if schema.type is Type.FLOAT64 else fit_single


def _unless_rounded(schema: Schema, given: Real, made: float) -> float:
    """A number for the one that was given, of which whole ones count things or name them: none becomes another."""
    if isinstance(given, Integral) and int(made) != int(given):
        raise _MismatchError(f"is a whole number that no {_shown(schema)} is exactly")
    return made


def _boolean(schema: Schema) -> Fitter:
    def fit(value: Any) -> bool:
        if isinstance(value, bool):
            return value
        raise _unfit(schema, value)

    return fit


def _string(schema: Schema) -> Fitter:
    def fit(value: Any) -> str:
        if type(value) is str:
            return value
        if isinstance(value, str):
            return str.__str__(value)
        raise _unfit(schema, value)

    return fit


def _bytes(schema: Schema) -> Fitter:
    def fit(value: Any) -> bytes:
        if type(value) is bytes:
            return value
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise _unfit(schema, value)

    return fit


def _array(schema: Schema) -> Fitter:
    fit_value = _fit_one(_part(schema.value_schema))

    def fit(value: Any) -> list[Any]:
        if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, (Sequence, Collection)):
            raise _unfit(schema, value)
        made: list[Any] = []
        try:
            made.extend(map(fit_value, value))
        except _MismatchError as why:
            raise why.under(len(made)) from None
        return made

    return fit


def _map(schema: Schema) -> Fitter:
    fit_key, fit_value = _fit_one(_part(schema.key_schema)), _fit_one(_part(schema.value_schema))

    def fit(value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise _unfit(schema, value)
        made: dict[Any, Any] = {}
        for at, (key, one) in enumerate(value.items()):
            try:
                # By its place: a key is data, which errors do not show.
                made[fit_key(key)] = fit_value(one)
            except _MismatchError as why:
                raise why.under(at) from None
        return made

    return fit


def _struct(schema: Schema) -> Fitter:
    fits = [(one.name, _fit_one(one.schema)) for one in schema.fields]
    known = frozenset(schema.names)

    def fit(value: Any) -> dict[str, Any]:
        given = _members(schema, value)
        made = {}
        for name, fit_field in fits:
            try:
                made[name] = fit_field(given.get(name))
            except _MismatchError as why:
                raise why.under(name) from None
        if len(given) > len(fits) or not known.issuperset(given):
            raise _MismatchError(f"has fields that its schema does not: {_unknown_names(given, known)}")
        return made

    return fit


def _members(schema: Schema, value: Any) -> Mapping[str, Any]:
    """The fields of a struct, however a task gave it."""
    if isinstance(value, Mapping):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    if not isinstance(value, (tuple, list)):
        raise _unfit(schema, value)
    if len(value) != len(schema.fields):
        raise _MismatchError(f"is a row of {len(value)} values; its schema ({_shown(schema)}) has {len(schema.fields)}")
    # A named tuple says which value is which; Spark's rows do, too.
    names = getattr(value, "_fields", None) or getattr(value, "__fields__", None) or schema.names
    return dict(zip(names, value, strict=True))


def _unknown_names(given: Mapping[Any, Any], known: frozenset[str]) -> str:
    unknown = sorted(str(name) for name in given if name not in known)
    return ", ".join(repr(name) for name in unknown[:3]) + (" ..." if len(unknown) > 3 else "")


def _decimal(schema: Schema) -> Fitter:
    scale = decimal_scale(schema)

    def fit(value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, (Decimal, int)):
            raise _unfit(schema, value)
        number = Decimal(value)
        if not number.is_finite():
            raise _MismatchError(f"is no finite number; its schema wants {_shown(schema)}")
        _, digits, exponent = number.as_tuple()
        missing = int(exponent) + scale
        if missing == 0:
            return number
        # By its digits, which `quantize` would round to those of the context.
        if missing < 0 and any(digits[missing:]):  # all digits, if there are fewer
            raise _MismatchError(f"has more digits behind the point than the scale {scale} of its schema")
        if missing > _MOST_DIGITS:
            raise _MismatchError(f"would have more than {_MOST_DIGITS} digits at the scale {scale} of its schema")
        changed = (*digits, *(0,) * missing) if missing > 0 else digits[:missing] or (0,)
        return Decimal((number.is_signed(), changed, -scale))

    return fit


def _date(schema: Schema) -> Fitter:
    def fit(value: Any) -> date:
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        raise _unfit(schema, value)

    return fit


def _time(schema: Schema) -> Fitter:
    def fit(value: Any) -> time:
        if not isinstance(value, time):
            raise _unfit(schema, value)
        if value.tzinfo is not None:
            raise _MismatchError("is a time with a time zone; its schema wants one without")
        return value.replace(microsecond=value.microsecond // 1000 * 1000)

    return fit


def _timestamp(schema: Schema) -> Fitter:
    def fit(value: Any) -> datetime:
        if not isinstance(value, datetime):
            raise _unfit(schema, value)
        if value.utcoffset() is None:
            raise _MismatchError("is a datetime without time zone, so no moment: give it one, such as datetime.UTC")
        return value.astimezone(UTC).replace(microsecond=value.microsecond // 1000 * 1000)

    return fit


def _part(schema: Schema | None) -> Schema:
    assert schema is not None, "checked when the schema was made"
    return schema


_KINDS: Mapping[Type, Callable[[Schema], Fitter]] = {
    **dict.fromkeys(_BITS, _integer),
    Type.FLOAT32: _float,
    Type.FLOAT64: _float,
    Type.BOOLEAN: _boolean,
    Type.STRING: _string,
    Type.BYTES: _bytes,
    Type.ARRAY: _array,
    Type.MAP: _map,
    Type.STRUCT: _struct,
}
_LOGICAL: Mapping[tuple[Type, str | None], Callable[[Schema], Fitter]] = {
    (Type.BYTES, DECIMAL_NAME): _decimal,
    (DATE.type, DATE.name): _date,
    (TIME.type, TIME.name): _time,
    (TIMESTAMP.type, TIMESTAMP.name): _timestamp,
}
