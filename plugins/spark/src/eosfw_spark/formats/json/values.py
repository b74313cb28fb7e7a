"""The conversion of JSON data to values of typed columns, strictly: what does not fit is an error, never null."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any, Final, Self

import pyarrow as pa

from eosfw_spark.formats.undecodable import UndecodableError

Convert = Callable[[Any], Any]
_TRUE: Final = ("t", "true", "y", "yes", "1")
_FALSE: Final = ("f", "false", "n", "no", "0")
"""The texts that Spark casts to a boolean."""
_DAY: Final = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?(.*)", re.DOTALL)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY: Final = date(1970, 1, 1)
_LONGEST: Final = 40
"""Characters of base64 of an unscaled number: 38 digits need 24, which may be padded."""
_WIDE: Final = Context(prec=76)
"""Digits enough for any text that could still round to a decimal of Spark."""


class JsonFloat(float):
    """A number with a point or an exponent, with the text that it was written as."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.text = text
        return made


def parse_json(data: bytes) -> Any:
    """Parse one JSON document; UndecodableError says where it is none."""
    try:
        return json.loads(data.decode("utf-8"), parse_float=JsonFloat, parse_constant=_no_constant)
    except UnicodeDecodeError as why:
        raise UndecodableError(f"it is no JSON: it is not UTF-8 at byte {why.start}") from None
    except json.JSONDecodeError as why:
        raise UndecodableError(f"it is no JSON at character {why.pos}") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or a constant
        raise UndecodableError("it is no JSON that can be read") from None


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def converter(wanted: pa.DataType, *, connect: bool = False) -> Convert:
    """The function from parsed JSON to values of a type.

    With `connect`, logical types are written as Kafka Connect's `JsonConverter` does: milliseconds, days, unscaled
    bytes. Otherwise they are texts, and a text is as good as a number, as where a step casts.
    """
    inner = _plain(wanted, connect=connect) if not pa.types.is_nested(wanted) else _nested(wanted, connect=connect)
    return lambda value: None if value is None else inner(value)


def _nested(wanted: pa.DataType, *, connect: bool) -> Convert:
    if pa.types.is_struct(wanted):
        return _struct({each.name: converter(each.type, connect=connect) for each in wanted})
    if pa.types.is_list(wanted):
        element = converter(wanted.value_type, connect=connect)
        return _of_kind(list, "ARRAY", lambda value: [element(each) for each in value])
    return _map(wanted, connect=connect)


def _struct(fields: Mapping[str, Convert]) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _unfit(value, "STRUCT")
        found = {}
        for name, field in fields.items():
            try:
                found[name] = field(value.get(name))
            except UndecodableError as why:
                why.path.insert(0, name)
                raise
        return found

    return convert


def _map(wanted: pa.DataType, *, connect: bool) -> Convert:
    # The names of an object are texts, whatever type they stand for.
    key, item = converter(wanted.key_type), converter(wanted.item_type, connect=connect)

    def convert(value: Any) -> Any:
        if isinstance(value, dict):
            return [(key(name), item(each)) for name, each in value.items()]
        # Kafka Connect writes a map whose keys are no texts as an array.
        if connect and isinstance(value, list):
            return [(key(name), item(each)) for name, each in map(_pair, value)]
        raise _unfit(value, "MAP")

    return convert


def _pair(value: Any) -> tuple[Any, Any]:
    """An entry of a map, as `JsonConverter` writes it, or as `JsonSchemaConverter` does."""
    if isinstance(value, list) and len(value) == 2:
        return value[0], value[1]
    if isinstance(value, dict) and value.keys() == {"key", "value"}:
        return value["key"], value["value"]
    raise _unfit(value, "an entry of MAP")


def _of_kind(kind: type, shown: str, convert: Convert) -> Convert:
    def checked(value: Any) -> Any:
        if not isinstance(value, kind):
            raise _unfit(value, shown)
        return convert(value)

    return checked


def _plain(wanted: pa.DataType, *, connect: bool) -> Convert:
    if pa.types.is_integer(wanted):
        return _integer(wanted.bit_width, texts=not connect)
    if pa.types.is_decimal(wanted):
        return _decimal(wanted.precision, wanted.scale, unscaled=connect)
    if pa.types.is_temporal(wanted):
        return _temporal(wanted, connect=connect)
    if wanted == pa.binary():
        return _of_kind(str, "BINARY as base64", _base64)
    if wanted == pa.string():
        return _of_kind(str, "STRING", str) if connect else _text
    return _boolean if wanted == pa.bool_() else _float


def _temporal(wanted: pa.DataType, *, connect: bool) -> Convert:
    if pa.types.is_date(wanted):
        return _days if connect else _of_kind(str, "DATE as text", _date)
    return _milliseconds if connect else _of_kind(str, "TIMESTAMP as text", _timestamp(aware=wanted.tz is not None))


def _unfit(value: Any, wanted: str) -> UndecodableError:
    kinds = {bool: "boolean", str: "string", list: "array", dict: "object"}
    return UndecodableError(f"a JSON {kinds.get(type(value), 'number')} where {wanted} is wanted")


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and (text := value.strip().lower()) in (*_TRUE, *_FALSE):
        return text in _TRUE
    raise _unfit(value, "BOOLEAN")


def _integer(bits: int, *, texts: bool) -> Convert:
    name = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}[bits]
    limit = 1 << (bits - 1)

    def convert(value: Any) -> int:
        if texts and isinstance(value, str):
            try:
                value = int(value) if "_" not in value else value
            except ValueError:
                raise _unfit(value, name) from None
        if not isinstance(value, int) or isinstance(value, bool):
            raise _unfit(value, name)
        if not -limit <= value < limit:
            raise UndecodableError(f"a number beyond the range of {name}")
        return value

    return convert


def _float(value: Any) -> float:
    # Kafka Connect writes what JSON has no number for as a text.
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str) or "_" in str(value):
            raise _unfit(value, "DOUBLE")
        return float(value)
    except (ValueError, OverflowError) as why:
        if isinstance(why, UndecodableError):
            raise
        raise _unfit(value, "DOUBLE") from None


def _decimal(precision: int, scale: int, *, unscaled: bool) -> Convert:
    name, step = f"DECIMAL({precision}, {scale})", Decimal(1).scaleb(-scale)

    def convert(value: Any) -> Decimal:
        number = _number(value, name) if not (unscaled and isinstance(value, str)) else _unscaled(value, scale)
        try:
            rounded = number.quantize(step, ROUND_HALF_UP, _WIDE)
        except InvalidOperation:
            raise UndecodableError(f"a number beyond the range of {name}") from None
        if rounded and rounded.adjusted() >= precision - scale:
            raise UndecodableError(f"a number beyond the range of {name}")
        return rounded

    return convert


def _number(value: Any, name: str) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | JsonFloat | str):
        raise _unfit(value, name)
    try:
        number = Decimal(value.text if isinstance(value, JsonFloat) else value)
    except InvalidOperation:
        raise _unfit(value, name) from None
    if not number.is_finite():
        raise _unfit(value, name)
    return number


def _unscaled(value: str, scale: int) -> Decimal:
    # A decimal of many more bytes than Spark's 38 digits have takes time that grows with their square.
    if len(value) > _LONGEST:
        return Decimal("Infinity")
    return Decimal(int.from_bytes(_base64(value), "big", signed=True)).scaleb(-scale, _WIDE)


def _base64(value: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise UndecodableError("a text that is no base64") from None


def _date(value: str) -> date:
    day, rest = _day(value)
    try:
        # A time behind the day is cut off.
        return date.fromisoformat(day if rest[:1] in ("", " ", "T") else "")
    except ValueError:
        raise UndecodableError("a text that is no date such as 2024-01-31") from None


def _day(text: str) -> tuple[str, str]:
    """The day in ISO's form, of a text that may lack it, or a zero, as Spark casts them; what is behind it."""
    found = _DAY.fullmatch(text.strip())
    if found is None:
        return text, ""
    year, month, day, rest = found.groups("1")
    return f"{year}-{month:0>2}-{day:0>2}", rest


def _days(value: Any) -> date:
    days = _integer(32, texts=False)(value)
    try:
        return _FIRST_DAY + timedelta(days=days)
    except OverflowError:
        raise UndecodableError("a date outside of the years 1 to 9999") from None


def _timestamp(*, aware: bool) -> Convert:
    def convert(value: str) -> datetime:
        try:
            found = datetime.fromisoformat("".join(_day(value)))
        except ValueError:
            raise UndecodableError("a text that is no timestamp such as 2024-01-31T12:00:00Z") from None
        if aware:
            return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        return found.replace(tzinfo=None)

    return convert


def _milliseconds(value: Any) -> datetime:
    milliseconds = _integer(64, texts=False)(value)
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        raise UndecodableError("a timestamp outside of the years 1 to 9999") from None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, JsonFloat):
        return value.text
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except RecursionError:
        raise UndecodableError("arrays and objects that are nested too deeply") from None
