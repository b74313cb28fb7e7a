"""Protobuf descriptors, and their types in Arrow."""

from __future__ import annotations

import base64
from typing import Any, Final

import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from eosfw_spark.formats.registry import StoredSchema
from eosfw_spark.formats.spark_types import INTERVAL, TIMESTAMP, list_of

_PACKAGES: Final = {"google": "", "confluent": "confluent_kafka.schema_registry."}
"""Where the modules of files are that registries know without being told."""
UINT64: Final = pa.decimal128(20, 0)
_PLAIN: Final = {
    FieldDescriptor.CPPTYPE_INT32: pa.int32(),
    FieldDescriptor.CPPTYPE_INT64: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT32: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT64: UINT64,
    FieldDescriptor.CPPTYPE_DOUBLE: pa.float64(),
    FieldDescriptor.CPPTYPE_FLOAT: pa.float32(),
    FieldDescriptor.CPPTYPE_BOOL: pa.bool_(),
    FieldDescriptor.CPPTYPE_ENUM: pa.string(),
    FieldDescriptor.CPPTYPE_STRING: pa.string(),
}
"""Spark has no unsigned types: these are the next wider ones."""
WELL_KNOWN: Final = {
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.Duration": INTERVAL,
    "google.type.Date": pa.date32(),
    "google.protobuf.Struct": pa.string(),
    "google.protobuf.Value": pa.string(),
    "google.protobuf.ListValue": pa.string(),
}
"""Messages that are columns of plain types; those which hold any JSON are texts of JSON."""
WRAPPERS: Final = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
"""Messages with one field, `value`, for a number or text that may be null."""


def arrow_type(message: Descriptor, within: tuple[str, ...] = ()) -> pa.DataType:
    """The type of a message; ValueError names one that holds itself."""
    if message.full_name in within:
        raise ValueError(f"has the message {message.full_name} within itself, which no column of Spark has")
    inside = (*within, message.full_name)
    return pa.struct([pa.field(each.name, _field_type(each, inside)) for each in message.fields])


def is_map(field: FieldDescriptor) -> bool:
    """Whether a field is `map<…>`."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _field_type(field: FieldDescriptor, within: tuple[str, ...]) -> pa.DataType:
    if is_map(field):
        entry = field.message_type.fields_by_name
        return pa.map_(_single(entry["key"], within), _single(entry["value"], within))
    single = _single(field, within)
    return list_of(single) if field.is_repeated else single


def _single(field: FieldDescriptor, within: tuple[str, ...]) -> pa.DataType:
    message = field.message_type
    if message is None:
        return pa.binary() if field.type == FieldDescriptor.TYPE_BYTES else _PLAIN[field.cpp_type]
    if message.full_name in WRAPPERS:
        return _single(message.fields_by_name["value"], within)
    return WELL_KNOWN.get(message.full_name) or arrow_type(message, within)


def of_registry(stored: StoredSchema) -> Any:
    """The file descriptor of a schema of a registry; ValueError if it is none."""
    pool = descriptor_pool.DescriptorPool()
    for name, text in stored.references:
        _add(pool, _parsed(text), name)
    # The registry gives files no names.
    return _add(pool, _parsed(stored.text), "eosfw_schema.proto")


def _parsed(text: str) -> descriptor_pb2.FileDescriptorProto:
    try:
        return descriptor_pb2.FileDescriptorProto.FromString(base64.standard_b64decode(text))
    except (ValueError, DecodeError):
        raise ValueError(
            "is no descriptor: the registry knows no format=serialized; give value.descriptor.file"
        ) from None


def _add(pool: Any, file: descriptor_pb2.FileDescriptorProto, name: str) -> Any:
    file.name = name
    _add_well_known(pool, file)
    return pool.AddSerializedFile(file.SerializeToString()) or pool.FindFileByName(name)


def _add_well_known(pool: Any, file: descriptor_pb2.FileDescriptorProto) -> None:
    """Add what a file imports that all know, such as google/protobuf/timestamp.proto or confluent/meta.proto."""
    for name in file.dependency:
        try:
            pool.FindFileByName(name)
        except KeyError:
            known = descriptor_pb2.FileDescriptorProto()
            try:
                _default_file(name).CopyToProto(known)
            except (KeyError, ImportError):
                raise ValueError(f"imports {name}, which is missing") from None
            _add_well_known(pool, known)
            pool.AddSerializedFile(known.SerializeToString())


def _default_file(name: str) -> Any:
    from importlib import import_module

    package = _PACKAGES.get(name.partition("/")[0])
    if package is not None:
        # Its module puts the file into the default pool.
        import_module(package + name.removesuffix(".proto").replace("/", ".") + "_pb2")
    return descriptor_pool.Default().FindFileByName(name)


def of_file(content: bytes, message: str | None) -> Descriptor:
    """A message of a descriptor file, as `protoc --descriptor_set_out --include_imports` writes it."""
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(content).file
    except DecodeError:
        files = []
    if not files:
        raise ValueError("is no descriptor file; write one with protoc --include_imports --descriptor_set_out=FILE")
    pool = descriptor_pool.DescriptorPool()
    for each in files:  # protoc writes imported files first
        _add(pool, each, each.name)
    if message is not None:
        try:
            return pool.FindMessageTypeByName(message)
        except KeyError:
            raise ValueError(f"has no message {message}; write its name with its package") from None
    last = pool.FindFileByName(files[-1].name)
    if len(last.message_types_by_name) != 1:
        raise ValueError("has several messages: name one with value.message.name")
    return next(iter(last.message_types_by_name.values()))


def at_indexes(file: Any, indexes: tuple[int, ...]) -> Descriptor | None:
    """The message at an index of each level of a file, None if there is none."""
    level, found = list(file.message_types_by_name.values()), None
    for index in indexes:
        if not 0 <= index < len(level):
            return None
        found = level[index]
        level = list(found.nested_types)
    return found


def named(file: Any, name: str | None) -> Descriptor:
    """A message of a file by its full name, or the first one; ValueError if there is none."""
    if name is None:
        first = at_indexes(file, (0,))
        if first is None:
            raise ValueError("has no message")
        return first
    try:
        return file.pool.FindMessageTypeByName(name)
    except KeyError:
        raise ValueError(f"has no message {name}; write its name with its package") from None
