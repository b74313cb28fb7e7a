"""The converter of what is bytes already."""

from __future__ import annotations

from typing import Any, ClassVar

from eosfw.config import Config, ConfigDef
from eosfw.data import BYTES, Schema, SchemaAndValue, Type
from eosfw.errors import DataError

CONVERTER_PACKAGE = "org.apache.kafka.connect"


class ByteArrayConverter:
    """Sends bytes as they are, and refuses everything else (Kafka Connect's `ByteArrayConverter`)."""

    name: ClassVar[str] = "bytes"
    aliases: ClassVar = (f"{CONVERTER_PACKAGE}.converters.ByteArrayConverter", "ByteArrayConverter")
    config: ClassVar = ConfigDef()

    def configure(self, config: Config) -> None:
        """Take no properties."""

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is not None and schema.type is not Type.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
        if value is None or type(value) is bytes:
            return value
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
        raise DataError(f"ByteArrayConverter is not compatible with objects of type {type(value).__name__}")

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return SchemaAndValue(BYTES.as_optional(), data)
