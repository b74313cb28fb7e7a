"""Messages of Protobuf as values of Kafka Connect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from eosfw.data import decimal_of
from eosfw.errors import DataError
from eosfw_schema_registry.protobuf.connect_schema import (
    ReadingRules,
    has_optional_word,
    is_map,
    is_wrapper,
    real_oneof,
)
from eosfw_schema_registry.protobuf.names import DATE_MESSAGE, DECIMAL_MESSAGE, TIME_MESSAGE, TIMESTAMP_MESSAGE

Convert = Callable[[Any], Any]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=1000)
def decoder(rules: ReadingRules, descriptor: Any) -> Convert:
    """Reads bytes of a message; DataError, without the bytes, for what is none."""
    make = message_factory.GetMessageClass(descriptor)
    convert: Convert
    if rules.wrapper_for_raw_primitives and is_wrapper(descriptor):
        convert = _unwrapped(descriptor)
    else:
        convert = _message(rules, descriptor)

    def decode(data: bytes) -> Any:
        try:
            message = make.FromString(data)
        except DecodeError:
            raise DataError(f"it is no message {descriptor.full_name}") from None
        return convert(message)

    return decode


def _message(rules: ReadingRules, descriptor: Any) -> Convert:
    fields = [(one.name, _may_be_missing(rules, one), _field(rules, one)) for one in descriptor.fields
              if real_oneof(one) is None]  # fmt: skip
    oneofs = [each for each in descriptor.oneofs if real_oneof(each.fields[0]) is not None]
    choices = [(each.name, rules.union_name(each), {one.name: _field(rules, one) for one in each.fields})
               for each in oneofs]  # fmt: skip
    flat = rules.flatten_unions

    def convert(message: Any) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for oneof, name, members in choices:
            chosen = message.WhichOneof(oneof)
            union = {one: each(getattr(message, one)) if one == chosen else None for one, each in members.items()}
            made.update(union if flat else {name: None if chosen is None else union})
        for name, may_be_missing, each in fields:
            made[name] = None if may_be_missing and not message.HasField(name) else each(getattr(message, name))
        return made

    return convert


def _may_be_missing(rules: ReadingRules, field: Any) -> bool:
    if field.is_repeated or rules.struct_for_nulls:
        return False
    if field.message_type is not None:
        return True
    # What is optional in proto2 counts only if a property says so.
    return has_optional_word(field) and (rules.optional_for_proto2 or field.containing_oneof is not None)


def _field(rules: ReadingRules, field: Any) -> Convert:
    if not field.is_repeated:
        return _single(rules, field)
    if not is_map(field):
        single = _single(rules, field)
        return lambda values: [single(one) for one in values]
    key, item = (_single(rules, one) for one in field.message_type.fields)
    if field.message_type.GetOptions().map_entry:
        return lambda values: {key(one): item(values[one]) for one in values}
    if field.message_type.fields_by_name["value"].message_type is None:
        return lambda entries: {key(one.key): item(one.value) for one in entries}
    return lambda entries: {key(one.key): item(one.value) if one.HasField("value") else None for one in entries}


def _single(rules: ReadingRules, field: Any) -> Convert:
    if field.enum_type is not None:
        return _same if rules.int_for_enums else _enum(field.enum_type)
    message = field.message_type
    if message is None:
        return _signed if field.type in _LONG else _same
    if message.full_name in _LOGICAL:
        return _LOGICAL[message.full_name]
    if rules.wrapper_for_nullables and is_wrapper(message):
        return _unwrapped(message)
    return _message(rules, message)


def _unwrapped(message: Any) -> Convert:
    convert = _signed if message.fields[0].type in _LONG else _same
    return lambda value: convert(value.value)


def _same(value: Any) -> Any:
    return value


def _signed(value: int) -> int:
    """The same bits in a number with a sign, since Java has no other."""
    return value - (1 << 64) if value >> 63 else value


def _enum(enum: Any) -> Convert:
    names = {one.number: one.name for one in enum.values}
    return lambda number: names.get(number, f"UNKNOWN_ENUM_VALUE_{enum.name}_{number}")


def _decimal(value: Any) -> Decimal:
    return decimal_of(value.value, value.scale)


def _date(value: Any) -> date:
    try:
        return date(value.year, value.month, value.day)
    except ValueError:
        raise DataError("a google.type.Date is no date") from None


def _time(value: Any) -> time:
    try:
        return time(value.hours, value.minutes, value.seconds, value.nanos // 1_000_000 * 1000)
    except ValueError:
        raise DataError("a google.type.TimeOfDay is no time of a day") from None


def _timestamp(value: Any) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=value.seconds, milliseconds=value.nanos // 1_000_000)
    except OverflowError:
        raise DataError("a google.protobuf.Timestamp lies beyond the years 1 to 9999") from None


_LONG: Final = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)
_LOGICAL: Final[Mapping[str, Convert]] = {
    DECIMAL_MESSAGE: _decimal,
    DATE_MESSAGE: _date,
    TIME_MESSAGE: _time,
    TIMESTAMP_MESSAGE: _timestamp,
}
