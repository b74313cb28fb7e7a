"""Protobuf schemas as the text of a .proto file, as far as the converter writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from google.protobuf import descriptor_pb2

from eosfw_schema_registry.protobuf.known_files import field_meta

_Field = descriptor_pb2.FieldDescriptorProto
_OPTION: Final = "confluent.field_meta"
_BOOLEAN, _STRING = _Field.TYPE_BOOL, _Field.TYPE_STRING


def proto_text(file: descriptor_pb2.FileDescriptorProto) -> str:
    """The text of a file in proto3."""
    return "\n".join(_file_lines(file)) + "\n"


def _file_lines(file: Any) -> Iterator[str]:
    yield 'syntax = "proto3";'
    if file.package:
        yield f"package {file.package};"
    if file.dependency:
        yield ""
        yield from (f"import {json.dumps(name)};" for name in file.dependency)
    if options := [(given.name, value) for given, value in file.options.ListFields()]:
        yield ""
        yield from (f"option {name} = {_literal(value)};" for name, value in options)
    for message in file.message_type:
        yield ""
        yield from _Message(file.package, message, f".{file.package}" if file.package else "").lines()


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else json.dumps(value)


class _Message:
    def __init__(self, package: str, message: Any, outside: str) -> None:
        self._package = package
        self._message = message
        self._path = f"{outside}.{message.name}"

    def lines(self) -> Iterator[str]:
        yield f"message {self._message.name} {{"
        for line in self._body():
            yield f"  {line}" if line else line
        yield "}"

    def _body(self) -> Iterator[str]:
        oneofs: dict[int, list[Any]] = {}
        for one in self._message.field:
            if one.HasField("oneof_index") and not one.proto3_optional:
                oneofs.setdefault(one.oneof_index, []).append(one)
            else:
                yield from self._field(one)
        for at, fields in oneofs.items():
            yield ""
            yield f"oneof {self._message.oneof_decl[at].name} {{"
            yield from (f"  {line}" for one in fields for line in self._field(one))
            yield "}"
        for enum in self._message.enum_type:
            yield ""
            yield f"enum {enum.name} {{"
            yield from (f"  {each.name} = {each.number};" for each in enum.value)
            yield "}"
        for nested in self._message.nested_type:
            yield ""
            yield from _Message(self._package, nested, self._path).lines()

    def _field(self, one: Any) -> Iterator[str]:
        repeated = one.label == _Field.LABEL_REPEATED
        label = "repeated " if repeated else "optional " if one.proto3_optional else ""
        head = f"{label}{self._type(one)} {one.name} = {one.number}"
        params = field_meta(one.options).params if one.HasField("options") else {}
        if not params:
            yield f"{head};"
            return
        yield f"{head} [({self._global(_OPTION)}) = {{"
        yield "  params: ["
        entries = [f"    {{ key: {json.dumps(key)}, value: {json.dumps(text)} }}" for key, text in params.items()]
        yield from ",\n".join(entries).split("\n")
        yield "  ]"
        yield "}];"

    def _type(self, one: Any) -> str:
        if not one.type_name:
            return str(_Field.Type.Name(one.type).removeprefix("TYPE_").lower())
        within, _, name = one.type_name.rpartition(".")
        return name if within == self._path else self._global(one.type_name.removeprefix("."))

    def _global(self, name: str) -> str:
        """A name of another package; with a dot before it where this package has one of the same beginning."""
        hidden = name.partition(".")[0] in (*self._package.split("."), *self._path.split("."))
        return f".{name}" if hidden else name
