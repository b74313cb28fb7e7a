"""Protobuf as one converter writes and reads it, by its properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from eosfw.config import Config
from eosfw.data import Schema
from eosfw_schema_registry.protobuf.connect_schema import ReadingRules, connect_schema
from eosfw_schema_registry.protobuf.decoders import decoder
from eosfw_schema_registry.protobuf.descriptors import ProtobufRules, message_schema
from eosfw_schema_registry.protobuf.encoders import MessageEncoder, encoder
from eosfw_schema_registry.protobuf.known_files import META, known_file
from eosfw_schema_registry.protobuf.proto_text import proto_text
from eosfw_schema_registry.protobuf.stored_files import message_at, place_of, stored_file


@dataclass(frozen=True, slots=True)
class WrittenMessage:
    """How values of one schema are written."""

    name: str
    """Of the message, with its package."""
    text: str
    """The schema as it is registered."""
    imports: tuple[str, ...]
    """The files with the messages of others that it has fields of."""
    indexes: tuple[int, ...]
    encoder: MessageEncoder


class ProtobufFormat:
    """What the properties of a converter say of messages."""

    def __init__(self, config: Config) -> None:
        optional, wrapper = config["optional.for.nullables"], config["wrapper.for.nullables"]
        self._rules = ProtobufRules(
            optional, wrapper, config["scrub.invalid.names"], config["ignore.default.for.nullables"]
        )
        self._reading = ReadingRules(
            optional,
            wrapper,
            config["wrapper.for.raw.primitives"],
            config["optional.for.proto2"],
            config["enhanced.protobuf.schema.support"],
            config["int.for.enums"],
            config["flatten.unions"],
            config["generate.index.for.unions"],
            config["generate.struct.for.nulls"],
        )

    def written(self, schema: Schema) -> WrittenMessage:
        """How values of a schema are written; DataError for what Protobuf cannot say."""
        made = message_schema(self._rules, schema)
        # Notes of Confluent's are no field: every registry knows their file.
        imports = tuple(name for name in made.file.dependency if name != META)
        name, text = made.descriptor.full_name, proto_text(made.file)
        return WrittenMessage(name, text, imports, made.indexes, encoder(self._rules, schema))

    def place_in(
        self, text: str, references: Mapping[str, str], schema: Schema, written: WrittenMessage
    ) -> tuple[int, ...]:
        """The place of a message in a registered schema by which it will be read; DataError if it has other fields."""
        if text == written.text:
            return written.indexes
        message = message_schema(self._rules, schema).descriptor
        return place_of(stored_file(text, references.items()), message, written.indexes)

    def known_text(self, name: str) -> str:
        """A file that all know, as it is registered where a registry is not to know it."""
        return proto_text(known_file(name))

    def read(
        self, text: str, references: Mapping[str, str], indexes: tuple[int, ...]
    ) -> tuple[Schema, Callable[[bytes], Any]]:
        """The schema of a message of a registered schema, and what reads it; DataError for what cannot be read."""
        message = message_at(stored_file(text, references.items()), indexes)
        return connect_schema(self._reading, message), decoder(self._reading, message)
