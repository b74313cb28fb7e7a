"""Protobuf schemas as registries give them: the bytes of a descriptor in Base64, or the text of a .proto file."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import DecodeError

from eosfw.errors import DataError
from eosfw_schema_registry.protobuf.descriptors import FILE_NAME
from eosfw_schema_registry.protobuf.known_files import add_file, is_known, known_file

_IMPORT: Final = re.compile(r'\bimport\s+(?:public\s+|weak\s+)?"([^"]+)"\s*;')
_NUMBERS: Final = (
    "the latest version of its subject: give the field its number by the parameter "
    "io.confluent.connect.protobuf.Tag of its schema, or do without use.latest.version"
)
_LONGEST: Final = 1_000
"""Characters that are shown of a compiler's words."""


def stored_file(text: str, references: Iterable[tuple[str, str]] = ()) -> Any:
    """The descriptor of a schema; `references` are the names and texts of files that it imports, the deepest first.

    DataError for a text that is no schema, or that needs a compiler which is not installed.
    """
    pool = descriptor_pool.DescriptorPool()
    files = {name: each for name, each in references if not is_known(name)}
    for name, each in files.items():
        add_file(pool, _parsed(name, each, files))
    return add_file(pool, _parsed(FILE_NAME, text, files))


def message_at(file: Any, indexes: tuple[int, ...]) -> Any:
    """The message at an index of each level; DataError if there is none."""
    level, found = list(file.message_types_by_name.values()), None
    for index in indexes:
        if not 0 <= index < len(level):
            raise DataError("its message is none of its schema: the index is beyond the last")
        found = level[index]
        level = list(found.nested_types)
    return found


def place_of(file: Any, message: Any, otherwise: tuple[int, ...]) -> tuple[int, ...]:
    """Where a file has the message by which another one is to be read; DataError if their fields are not the same.

    `otherwise` is the place where none has its name: then that one is read.
    """
    names = [one.full_name for one in file.message_types_by_name.values()]
    place = (names.index(message.full_name),) if message.full_name in names else otherwise
    _refuse_other_fields(message, message_at(file, place), set())
    return place


def _refuse_other_fields(message: Any, other: Any, seen: set[str]) -> None:
    """Refuse fields that readers would take for others: registries compare numbers and types, but no names."""
    if message.full_name in seen:
        return
    seen.add(message.full_name)
    for field in message.fields:
        named, numbered = other.fields_by_name.get(field.name), other.fields_by_number.get(field.number)
        if named is not None and named.number != field.number:
            raise DataError(f"field {field.full_name} has another number in {_NUMBERS}")
        if numbered is not None and numbered.name != field.name:
            raise DataError(f"the number of field {field.full_name} is that of another one in {_NUMBERS}")
        if numbered is not None and field.message_type is not None and numbered.message_type is not None:
            _refuse_other_fields(field.message_type, numbered.message_type, seen)


def _parsed(name: str, text: str, files: dict[str, str]) -> descriptor_pb2.FileDescriptorProto:
    try:
        file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (ValueError, DecodeError):
        file = _compiled(name, text, files)
    file.name = name
    return file


def _compiled(name: str, text: str, files: dict[str, str]) -> descriptor_pb2.FileDescriptorProto:
    """A .proto file, read by Protobuf's own compiler in a process of its own: the text is a stranger's."""
    if find_spec("grpc_tools") is None:
        what = "the registry gives the text of the Protobuf schema, which needs a compiler to be read"
        raise DataError(f"{what}: pip install 'eosfw-schema-registry[protoc]'")
    with tempfile.TemporaryDirectory(prefix="eosfw-protobuf-") as folder:
        root = Path(folder)
        for each, content in {**files, name: text}.items():
            path = root / "source" / each
            # Names of files are data of a registry: none may lead out of the folder.
            if not path.resolve().is_relative_to(root.resolve()):
                raise DataError(f"the Protobuf schema imports a file by a name that is none: {each}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        known, made = root / "known.binpb", root / "made.binpb"
        known.write_bytes(_known_imports((text, *files.values())).SerializeToString())
        options = (f"--proto_path={root / 'source'}", f"--descriptor_set_in={known}", f"--descriptor_set_out={made}")
        # -P: a module of that name in the folder that we are in is none of ours.
        command = (sys.executable, "-P", "-m", "grpc_tools.protoc", *options, name)
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            source = f"{root / 'source'}/"
            lines = [line.replace(source, "") for line in ended.stderr.splitlines() if line.startswith(source)]
            why = " ".join(lines or ended.stderr.splitlines())[:_LONGEST]
            raise DataError(f"Protobuf's compiler refuses the schema of the registry: {why}")
        return descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes()).file[0]


def _known_imports(texts: Iterable[str]) -> descriptor_pb2.FileDescriptorSet:
    """The files that Protobuf and registries know, of those that texts import, the deepest first."""
    found: dict[str, descriptor_pb2.FileDescriptorProto] = {}

    def collect(name: str) -> None:
        if name not in found:
            file = known_file(name)
            for each in file.dependency:
                collect(each)
            found[name] = file

    for text in texts:
        for name in _IMPORT.findall(text):
            if is_known(name):
                collect(name)
    return descriptor_pb2.FileDescriptorSet(file=found.values())
