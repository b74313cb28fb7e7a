"""Files that Protobuf and Confluent's registries know without being told."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool

from eosfw.errors import DataError

META: Final = "confluent/meta.proto"
_CONFLUENT: Final = "confluent_kafka.schema_registry"
_PREFIXES: Final = ("google/protobuf/", "google/type/", "confluent/")


def is_known(name: str) -> bool:
    """Whether a registry has the file by itself."""
    return name.startswith(_PREFIXES)


def known_file(name: str) -> descriptor_pb2.FileDescriptorProto:
    """A file by the name under which others import it; DataError if nobody has it."""
    package = f"{_CONFLUENT}." if name.startswith("confluent/") else ""
    made = descriptor_pb2.FileDescriptorProto()
    try:
        import_module(package + name.removesuffix(".proto").replace("/", ".") + "_pb2").DESCRIPTOR.CopyToProto(made)
    except ImportError:
        raise DataError(f"the Protobuf schema imports {name}, which is missing") from None
    # Some come without the syntax that they were written in.
    return made


def field_meta(options: Any) -> Any:
    """The notes of Confluent's converters at a field, in whose `params` they keep what Protobuf has no word for."""
    meta: Any = import_module(f"{_CONFLUENT}.confluent.meta_pb2")
    return options.Extensions[meta.field_meta]


def add_file(pool: descriptor_pool.DescriptorPool, file: descriptor_pb2.FileDescriptorProto) -> Any:
    """The descriptor of a file in a pool, into which known files that it imports are put first.

    DataError for one that contradicts itself.
    """
    for name in file.dependency:
        if not _has(pool, name):
            add_file(pool, known_file(name))
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except TypeError as why:
        raise DataError(f"Invalid protobuf schema definition: {' '.join(str(why).split())}") from None
    return pool.FindFileByName(file.name)


def _has(pool: descriptor_pool.DescriptorPool, name: str) -> bool:
    try:
        pool.FindFileByName(name)
    except KeyError:
        return False
    return True
