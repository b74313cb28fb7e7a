"""Schemas of Kafka Connect of Protobuf's messages, whoever wrote them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor

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
    Field,
    Schema,
    array,
    decimal,
    map_of,
    struct,
)
from eosfw.errors import DataError
from eosfw_schema_registry.protobuf.known_files import field_meta
from eosfw_schema_registry.protobuf.names import (
    CONNECT_TYPE,
    DATE_MESSAGE,
    DECIMAL_MESSAGE,
    ENTRY,
    ENUM,
    KEY,
    PRECISION,
    PROTO_TYPE,
    TAG,
    TIME_MESSAGE,
    TIMESTAMP_MESSAGE,
    UNION_NAME,
    VALUE,
    WRAPPER,
    map_name,
)

_PLAIN: Final = {
    **dict.fromkeys((FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SFIXED32), INT32),
    **dict.fromkeys((FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32), INT64),
    **dict.fromkeys((FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_SFIXED64), INT64),
    **dict.fromkeys((FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64), INT64),
    FieldDescriptor.TYPE_FLOAT: FLOAT32,
    FieldDescriptor.TYPE_DOUBLE: FLOAT64,
    FieldDescriptor.TYPE_BOOL: BOOLEAN,
    FieldDescriptor.TYPE_STRING: STRING,
    FieldDescriptor.TYPE_BYTES: BYTES,
}
_UNNAMED: Final = (FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64)
"""Types of numbers that Kafka Connect's say by themselves."""
_NAMES: Final = {
    FieldDescriptor.TYPE_SINT32: "sint32",
    FieldDescriptor.TYPE_SFIXED32: "sfixed32",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_FIXED32: "fixed32",
    FieldDescriptor.TYPE_SINT64: "sint64",
    FieldDescriptor.TYPE_SFIXED64: "sfixed64",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_FIXED64: "fixed64",
}
_MESSAGES: Final = {DATE_MESSAGE: DATE, TIME_MESSAGE: TIME, TIMESTAMP_MESSAGE: TIMESTAMP}
_WRAPPERS: Final = {
    "google.protobuf.DoubleValue": FLOAT64,
    "google.protobuf.FloatValue": FLOAT32,
    "google.protobuf.Int64Value": INT64,
    "google.protobuf.UInt64Value": INT64,
    "google.protobuf.Int32Value": INT32,
    "google.protobuf.UInt32Value": INT64,
    "google.protobuf.BoolValue": BOOLEAN,
    "google.protobuf.StringValue": STRING,
    "google.protobuf.BytesValue": BYTES,
}
_SMALL: Final = {"int8": INT8, "int16": INT16}


@dataclass(frozen=True, slots=True)
class ReadingRules:
    """What the properties of the converter change of the schemas that it reads."""

    optional_for_nullables: bool = False
    wrapper_for_nullables: bool = False
    wrapper_for_raw_primitives: bool = True
    optional_for_proto2: bool = True
    full_names: bool = False
    """Whether names have their package (`enhanced.protobuf.schema.support`)."""
    int_for_enums: bool = False
    flatten_unions: bool = False
    index_for_unions: bool = True
    struct_for_nulls: bool = False

    def union_name(self, oneof: Any) -> str:
        """The field of a oneof."""
        return f"{oneof.name}_{oneof.index}" if self.index_for_unions else str(oneof.name)


@lru_cache(maxsize=1000)
def connect_schema(rules: ReadingRules, message: Any) -> Schema:
    """The schema of a message; DataError for one that holds itself."""
    if rules.wrapper_for_raw_primitives and message.full_name in _WRAPPERS:
        return _WRAPPERS[message.full_name]
    return _Reader(rules).message(message)


def is_wrapper(message: Any) -> bool:
    """Whether a message has one field, for what may be null."""
    return message is not None and message.full_name in _WRAPPERS


def is_map(field: Any) -> bool:
    """Whether a field is a map, or a list of what Confluent's converter writes as one."""
    message = field.message_type
    if message is None or not field.is_repeated or not message.name.endswith(ENTRY):
        return False
    names = [one.name for one in message.fields]
    return names == [KEY, VALUE] and not any(one.is_repeated for one in message.fields)


def real_oneof(field: Any) -> Any:
    """The oneof of a field; None if it is in none, or in one that stands for `optional`."""
    oneof = field.containing_oneof
    return None if oneof is None or is_synthetic(oneof) else oneof


def is_synthetic(oneof: Any) -> bool:
    """Whether a oneof stands for the word `optional` in proto3."""
    return len(oneof.fields) == 1 and oneof.name == f"_{oneof.fields[0].name}"


def has_optional_word(field: Any) -> bool:
    """Whether the schema says `optional` at a field, so that it is known whether it is there."""
    oneof = field.containing_oneof
    if oneof is not None:
        return is_synthetic(oneof)
    plain = field.message_type is None and not field.is_repeated and not field.is_required
    return bool(plain and field.has_presence)


class _Reader:
    def __init__(self, rules: ReadingRules) -> None:
        self._rules = rules
        self._within: list[str] = []

    def message(self, message: Any) -> Schema:
        """A message as a struct: its oneofs, then its other fields."""
        if message.full_name in self._within:
            raise DataError(f"the message {message.full_name} holds itself, which no schema of a record can")
        self._within.append(message.full_name)
        fields = [each for oneof in message.oneofs if not is_synthetic(oneof) for each in self._oneof(oneof)]
        fields += [Field(one.name, self._field(one)) for one in message.fields if real_oneof(one) is None]
        self._within.pop()
        return struct(fields, name=self._name(message))

    def _name(self, named: Any) -> str:
        return str(named.full_name if self._rules.full_names else named.name)

    def _oneof(self, oneof: Any) -> list[Field]:
        fields = [Field(one.name, self._field(one, in_oneof=True)) for one in oneof.fields]
        if self._rules.flatten_unions:
            return fields
        union = struct(fields, name=UNION_NAME + self._name(oneof)).as_optional()
        return [Field(self._rules.union_name(oneof), union)]

    def _field(self, field: Any, *, in_oneof: bool = False) -> Schema:
        schema = self._map(field) if is_map(field) else self._single(field)
        if field.message_type is not None:
            schema = schema.as_optional()
        if field.is_repeated and not is_map(field):
            schema = array(schema.as_optional()).as_optional()
        parameters = {TAG: str(field.number)}
        if self._is_optional(field, in_oneof=in_oneof):
            schema = schema.as_optional()
        if in_oneof and self._rules.wrapper_for_nullables and is_wrapper(field.message_type):
            parameters[WRAPPER] = "true"
        return replace(schema, parameters={**schema.parameters, **parameters})

    def _is_optional(self, field: Any, *, in_oneof: bool) -> bool:
        if in_oneof:
            return True
        if self._rules.optional_for_nullables:
            return has_optional_word(field)
        return not self._rules.wrapper_for_nullables

    def _single(self, field: Any) -> Schema:
        if field.enum_type is not None:
            return self._enum(field.enum_type)
        if field.message_type is None:
            return self._number(field)
        name = field.message_type.full_name
        if name == DECIMAL_MESSAGE:
            return self._decimal(field)
        if name in _MESSAGES:
            return _MESSAGES[name]
        if self._rules.wrapper_for_nullables and name in _WRAPPERS:
            return _WRAPPERS[name]
        return self.message(field.message_type)

    def _number(self, field: Any) -> Schema:
        schema = _PLAIN[field.type]
        if schema is INT32:
            small = _SMALL.get(_notes(field).get(CONNECT_TYPE, ""))
            if small is not None:
                return small
        name = _NAMES.get(field.type)
        return schema if name is None else replace(schema, parameters={PROTO_TYPE: name})

    def _decimal(self, field: Any) -> Schema:
        notes = _notes(field)
        schema = decimal(int(notes.get("scale", "0")))
        if (precision := notes.get("precision")) is not None:
            schema = replace(schema, parameters={**schema.parameters, PRECISION: precision})
        return schema

    def _enum(self, enum: Any) -> Schema:
        values = {f"{ENUM}.{one.name}": str(one.number) for one in enum.values}
        schema = INT32 if self._rules.int_for_enums else STRING
        return replace(schema, optional=True, name=self._name(enum), parameters={ENUM: enum.name, **values})

    def _map(self, field: Any) -> Schema:
        key, value = field.message_type.fields
        made = map_of(self._field(key), self._field(value))
        return replace(made, name=map_name(self._name(field.message_type)))


def _notes(field: Any) -> dict[str, str]:
    return dict(field_meta(field.GetOptions()).params)
