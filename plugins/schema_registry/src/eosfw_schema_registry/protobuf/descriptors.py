"""Protobuf schemas of schemas of Kafka Connect."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool

from eosfw.data import Schema, Type
from eosfw.errors import DataError
from eosfw_schema_registry.protobuf.known_files import META, add_file, field_meta, known_file
from eosfw_schema_registry.protobuf.names import (
    CONNECT_TYPE,
    DEFAULT_NAME,
    ENUM,
    KEY,
    LOGICAL,
    PRECISION,
    PROTO_TYPE,
    SCALE,
    TAG,
    UNION_NAME,
    UNSIGNED_WRAPPERS,
    VALUE,
    WRAPPER,
    WRAPPERS,
    is_union,
    map_entry,
    part_of,
    scrubbed,
    valid,
)

_Field = descriptor_pb2.FieldDescriptorProto
FILE_NAME: Final = "eosfw_schema.proto"
"""A registry gives files no names."""
_PLAIN: Final = {
    Type.INT8: "int32",
    Type.INT16: "int32",
    Type.INT32: "int32",
    Type.INT64: "int64",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "bool",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_WRAPPERS_FILE: Final = "google/protobuf/wrappers.proto"
_FILES: Final = {
    "confluent.type.Decimal": "confluent/type/decimal.proto",
    "google.type.Date": "google/type/date.proto",
    "google.type.TimeOfDay": "google/type/timeofday.proto",
    "google.protobuf.Timestamp": "google/protobuf/timestamp.proto",
}


@dataclass(frozen=True, slots=True)
class ProtobufRules:
    """What the properties of the converter change of the Protobuf schemas that it writes."""

    optional_for_nullables: bool = False
    wrapper_for_nullables: bool = False
    scrub_invalid_names: bool = False
    ignore_default: bool = False

    def name(self, name: str) -> str:
        """A name as it is written; DataError for one that Protobuf does not take."""
        return scrubbed(name) if self.scrub_invalid_names else valid(name)

    def is_wrapped(self, schema: Schema, *, in_oneof: bool = False) -> bool:
        """Whether a plain value is in a message of its own, so that it can be missing."""
        return (
            self.wrapper_for_nullables
            and schema.optional
            and (not in_oneof or schema.parameters.get(WRAPPER, "").lower() == "true")
        )


@dataclass(frozen=True, slots=True)
class MessageSchema:
    """The Protobuf schema of values of a schema."""

    file: descriptor_pb2.FileDescriptorProto
    descriptor: Any
    """Of the message that a value is."""
    indexes: tuple[int, ...]
    """Its place among the messages of the file, on each level."""


@lru_cache(maxsize=1000)
def message_schema(rules: ProtobufRules, schema: Schema) -> MessageSchema:
    """The Protobuf schema for a schema; DataError for what Protobuf cannot say."""
    if schema.type is Type.STRUCT and not is_union(schema):
        made = _File(rules)
        name = made.root(schema)
        file, indexes = made.file, (0,)
    else:
        if schema.type not in WRAPPERS or schema.name in LOGICAL:
            raise DataError(f"Unsupported root schema of type {schema.type.name}: put it into a field of a STRUCT")
        file, name = known_file(_WRAPPERS_FILE), WRAPPERS[schema.type]
        file.name = FILE_NAME
        indexes = ([f"{file.package}.{one.name}" for one in file.message_type].index(name),)
    pool = descriptor_pool.DescriptorPool()
    add_file(pool, file)
    return MessageSchema(file, pool.FindMessageTypeByName(name), indexes)


@dataclass(slots=True)
class _Scope:
    """A message that is being made."""

    message: Any
    path: str
    """Its name, with that of its package."""
    structs: dict[str, Schema] = field(default_factory=dict)
    """The structs whose messages are in it."""


class _File:
    def __init__(self, rules: ProtobufRules) -> None:
        self.file = descriptor_pb2.FileDescriptorProto(name=FILE_NAME, syntax="proto3")
        self._rules = rules
        self._unnamed = 0

    def root(self, schema: Schema) -> str:
        """Add the message of the root, and return its name."""
        *package, name = map(self._rules.name, self._name_of(schema).split("."))
        if package:
            self.file.package = ".".join(package)
        self._message(self.file.message_type.add(name=name), ".".join((*package, name)), schema)
        return ".".join((*package, name))

    def _name_of(self, schema: Schema) -> str:
        if schema.name:
            return schema.name
        self._unnamed += 1
        return f"{DEFAULT_NAME}{self._unnamed}"

    def _own_name(self, schema: Schema) -> str:
        """Without the package."""
        return self._rules.name(self._name_of(schema).rpartition(".")[2])

    def _message(self, message: Any, path: str, schema: Schema) -> None:
        scope, number = _Scope(message, path), 0
        for one in schema.fields:
            given = _tag(one.schema)
            if given is None:
                number += 1
            if is_union(one.schema):
                self._oneof(scope, one.schema)
                continue
            made = self._field(scope, one.schema, self._rules.name(one.name), number if given is None else given)
            if self._is_optional(one.schema):
                made.proto3_optional = True
                made.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{made.name}")
        # Those of optional fields come last, or the descriptor is none.
        _sort_oneofs(message)

    def _is_optional(self, schema: Schema) -> bool:
        plural = schema.type in (Type.ARRAY, Type.MAP)
        return self._rules.optional_for_nullables and schema.optional and not plural

    def _oneof(self, scope: _Scope, schema: Schema) -> None:
        index = len(scope.message.oneof_decl)
        named = Schema(Type.STRUCT, name=(schema.name or "").removeprefix(UNION_NAME))
        scope.message.oneof_decl.add(name=self._own_name(named))
        for one in schema.fields:
            number = _tag(one.schema)
            if number is None:
                raise DataError(f"field {one.name!r} of the oneof {named.name} has no number: parameter {TAG}")
            made = self._field(scope, one.schema, self._rules.name(one.name), number, in_oneof=True)
            made.oneof_index = index

    def _field(self, scope: _Scope, schema: Schema, name: str, number: int, *, in_oneof: bool = False) -> Any:
        repeated = schema.type in (Type.ARRAY, Type.MAP)
        one = part_of(schema.value_schema) if schema.type is Type.ARRAY else schema
        if schema.type is Type.ARRAY and one.type in (Type.ARRAY, Type.MAP):
            raise DataError(f"field {name!r}: Array cannot be nested")
        made = scope.message.field.add(
            name=name, number=number, label=_Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
        )
        if (message := LOGICAL.get(one.name)) is not None:
            self._note(made, _decimal_notes(one))
            self._known(made, message, _FILES[message])
        elif one.type is Type.STRUCT:
            self._struct(scope, made, one)
        elif one.type is Type.MAP:
            self._map(scope, made, one)
        elif ENUM in one.parameters:
            self._enum(scope, made, one)
        else:
            self._plain(made, one, in_oneof=in_oneof)
        return made

    def _known(self, made: Any, message: str, file: str) -> None:
        made.type, made.type_name = _Field.TYPE_MESSAGE, f".{message}"
        self._import(file)

    def _import(self, file: str) -> None:
        if file not in self.file.dependency:
            self.file.dependency.append(file)

    def _note(self, made: Any, notes: dict[str, str]) -> None:
        if notes:
            field_meta(made.options).params.update(notes)
            self._import(META)

    def _struct(self, scope: _Scope, made: Any, schema: Schema) -> None:
        name = self._own_name(schema)
        name = f"{name}Message" if name == made.name else name
        path = f"{scope.path}.{name}"
        made.type, made.type_name = _Field.TYPE_MESSAGE, f".{path}"
        if name not in scope.structs:
            scope.structs[name] = schema
            self._message(scope.message.nested_type.add(name=name), path, schema)
        elif scope.structs[name].fields != schema.fields:
            raise DataError(f"two structs of {scope.path} with other fields have the name {name}: rename one")

    def _map(self, scope: _Scope, made: Any, schema: Schema) -> None:
        name = map_entry(self._own_name(schema))
        made.type, made.type_name = _Field.TYPE_MESSAGE, f".{scope.path}.{name}"
        inner = _Scope(scope.message.nested_type.add(name=name), f"{scope.path}.{name}")
        self._field(inner, part_of(schema.key_schema), KEY, 1)
        self._field(inner, part_of(schema.value_schema), VALUE, 2)

    def _enum(self, scope: _Scope, made: Any, schema: Schema) -> None:
        name = self._own_name(schema)
        made.type, made.type_name = _Field.TYPE_ENUM, f".{scope.path}.{name}"
        values = {
            parameter.removeprefix(f"{ENUM}."): int(number)
            for parameter, number in schema.parameters.items()
            if parameter.startswith(f"{ENUM}.")
        }
        for known in scope.message.enum_type:
            if known.name == name:
                if {one.name: one.number for one in known.value} != values:
                    raise DataError(f"two enums of {scope.path} with other values have the name {name}: rename one")
                return
        enum = scope.message.enum_type.add(name=name)
        for value, number in values.items():
            enum.value.add(name=value, number=number)

    def _plain(self, made: Any, schema: Schema, *, in_oneof: bool) -> None:
        if schema.type in (Type.INT8, Type.INT16):
            self._note(made, {CONNECT_TYPE: schema.type.value})
        kind = _PLAIN[schema.type]
        if schema.type in (Type.INT32, Type.INT64):
            kind = schema.parameters.get(PROTO_TYPE, kind)
        if self._rules.is_wrapped(schema, in_oneof=in_oneof):
            self._known(made, UNSIGNED_WRAPPERS.get(kind, WRAPPERS[schema.type]), _WRAPPERS_FILE)
        else:
            made.type = _Field.Type.Value(f"TYPE_{kind.upper()}")


def _tag(schema: Schema) -> int | None:
    text = schema.parameters.get(TAG)
    return None if text is None else int(text)


def _decimal_notes(schema: Schema) -> dict[str, str]:
    given = (("precision", schema.parameters.get(PRECISION)), ("scale", schema.parameters.get(SCALE)))
    return {name: text for name, text in given if text is not None}


def _sort_oneofs(message: Any) -> None:
    """Put the oneofs of optional fields behind the others, as Protobuf wants them."""
    synthetic = {one.oneof_index for one in message.field if one.proto3_optional}
    order = sorted(range(len(message.oneof_decl)), key=lambda at: at in synthetic)
    names = [message.oneof_decl[at].name for at in order]
    for at, name in enumerate(names):
        message.oneof_decl[at].name = name
    for one in message.field:
        if one.HasField("oneof_index"):
            one.oneof_index = order.index(one.oneof_index)
