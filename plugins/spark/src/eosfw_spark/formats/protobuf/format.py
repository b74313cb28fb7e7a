"""Protobuf as a format: each record by the fields of one message, which Protobuf resolves by their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from eosfw_spark.formats import wire_format
from eosfw_spark.formats.protobuf import schema as schemas
from eosfw_spark.formats.registry import SchemaRegistry, StoredSchema, WriterSchemas, kept_registry
from eosfw_spark.formats.undecodable import UndecodableError

Convert = Callable[[Any], Any]
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ProtobufFormat:
    """A message of a schema of the registry, or of a descriptor file."""

    type: pa.DataType
    stored: StoredSchema | None = None
    descriptors: bytes = b""
    message: str | None = None
    prefixed: bool = False
    """Whether a schema's id and the index of its message stand before each message."""
    registry: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Empty if no writer's schema is asked for: a descriptor file says what the index is."""

    def deserializer(self) -> ProtobufDeserializer:
        """Make what decodes it in this process."""
        return ProtobufDeserializer(self, kept_registry(self.registry) if self.registry else None)


def read_stored(stored: StoredSchema, message: str | None, registry: Mapping[str, str]) -> ProtobufFormat:
    """The format of a message of a registry's schema; ValueError says what is wrong with it."""
    found = schemas.named(schemas.of_registry(stored), message)
    return ProtobufFormat(schemas.arrow_type(found), stored, b"", found.full_name, True, registry)


def read_descriptors(content: bytes, message: str | None, *, prefixed: bool) -> ProtobufFormat:
    """The format of a message of a descriptor file; ValueError says what is wrong with it."""
    found = schemas.of_file(content, message)
    return ProtobufFormat(schemas.arrow_type(found), None, content, found.full_name, prefixed)


class ProtobufDeserializer:
    """Decodes messages of any writer whose message has the same name."""

    def __init__(self, described: ProtobufFormat, registry: SchemaRegistry | None) -> None:
        self.type = described.type
        self._prefixed = described.prefixed
        self._files = None if registry is None else WriterSchemas(registry, "PROTOBUF", schemas.of_registry)
        message = _message(described)
        self._file = message.file
        self._name = message.full_name
        self._class = message_factory.GetMessageClass(message)
        self._convert = _message_converter(message)

    def deserialize(self, data: bytes) -> Any:
        if self._prefixed:
            number, data = wire_format.split(data)
            indexes, data = wire_format.message_indexes(data)
            file = self._file if self._files is None else self._files.of(number)
            self._require_name(schemas.at_indexes(file, indexes))
        try:
            message = self._class.FromString(data)
        except DecodeError:
            raise UndecodableError(f"it is no message {self._name}") from None
        return self._convert(message)

    def _require_name(self, written: Descriptor | None) -> None:
        if written is None or written.full_name != self._name:
            shown = "none of its schema" if written is None else written.full_name
            raise UndecodableError(f"its message is {shown}, not {self._name}")

    def deserialize_column(self, column: pa.Array) -> pa.Array | None:
        return None


def _message(described: ProtobufFormat) -> Descriptor:
    if described.stored is None:
        return schemas.of_file(described.descriptors, described.message)
    return schemas.named(schemas.of_registry(described.stored), described.message)


def _message_converter(message: Descriptor) -> Convert:
    fields = [(each.name, each.has_presence, _field_converter(each)) for each in message.fields]

    def convert(value: Any) -> dict[str, Any]:
        # What can be missing is null where it is missing; other fields have their default, as Protobuf defines them.
        return {
            name: None if presence and not value.HasField(name) else inner(getattr(value, name))
            for name, presence, inner in fields
        }

    return convert


def _field_converter(given: FieldDescriptor) -> Convert:
    if schemas.is_map(given):
        entry = given.message_type.fields_by_name
        key, item = _single_converter(entry["key"]), _single_converter(entry["value"])
        return lambda value: [(key(one), item(value[one])) for one in value]
    single = _single_converter(given)
    return (lambda value: [single(each) for each in value]) if given.is_repeated else single


def _single_converter(given: FieldDescriptor) -> Convert:
    message = given.message_type
    if message is None:
        if given.enum_type is not None:
            names = {each.number: each.name for each in given.enum_type.values}
            return lambda value: names.get(value, str(value))
        return Decimal if given.cpp_type == FieldDescriptor.CPPTYPE_UINT64 else _same
    if message.full_name in schemas.WRAPPERS:
        inner = _single_converter(message.fields_by_name["value"])
        return lambda value: inner(value.value)
    return _WELL_KNOWN.get(message.full_name) or _message_converter(message)


def _same(value: Any) -> Any:
    return value


def _timestamp(value: Any) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    except OverflowError:
        raise UndecodableError("a timestamp outside of the years 1 to 9999") from None


def _duration(value: Any) -> timedelta:
    try:
        return timedelta(seconds=value.seconds, microseconds=int(value.nanos / 1000))
    except OverflowError:
        raise UndecodableError("a duration that no interval of Spark holds") from None


def _date(value: Any) -> date:
    try:
        return date(value.year, value.month, value.day)
    except ValueError:
        raise UndecodableError("a date that is none") from None


def _json(value: Any) -> str:
    return str(json_format.MessageToJson(value, indent=None))


_WELL_KNOWN: Final[Mapping[str, Convert]] = {
    "google.protobuf.Timestamp": _timestamp,
    "google.protobuf.Duration": _duration,
    "google.type.Date": _date,
    "google.protobuf.Struct": _json,
    "google.protobuf.Value": _json,
    "google.protobuf.ListValue": _json,
}
