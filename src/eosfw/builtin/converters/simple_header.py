"""The converter of headers to texts that say their types by how they look."""

from __future__ import annotations

from typing import Any, ClassVar

from eosfw.builtin.connect_text import convert_to_string
from eosfw.builtin.connect_values import parse_string
from eosfw.builtin.converters.encoded_text import encoded_text
from eosfw.config import Config, ConfigDef
from eosfw.data import BYTES, Schema, SchemaAndValue
from eosfw.errors import DataError


class SimpleHeaderConverter:
    """Writes headers as texts: `7`, `true`, `2026-11-25`, `[1,2]`, `{"a":1}` (Kafka Connect's `SimpleHeaderConverter`).

    Reading them takes the narrowest type that a text looks like, so a text `7` becomes a number.
    """

    name: ClassVar[str] = "simple"
    aliases: ClassVar = ("org.apache.kafka.connect.storage.SimpleHeaderConverter", "SimpleHeaderConverter")
    config: ClassVar = ConfigDef()

    def configure(self, config: Config) -> None:
        """Take no properties."""

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        try:
            return encoded_text(convert_to_string(schema, value), "utf-8")
        except RecursionError:
            raise DataError(f"header {name!r}: it is nested too deeply") from None
        except DataError as why:
            raise DataError(f"header {name!r}: {why}") from None

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        try:
            return parse_string(data.decode("utf-8", "replace"))
        except (DataError, RecursionError):  # as Kafka Connect: what is no text of a value is bytes
            return SchemaAndValue(BYTES, data)
