"""The converter to text."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from eosfw.builtin.connect_json import java_double
from eosfw.builtin.converters.encoded_text import decoded_text, encoded_text
from eosfw.builtin.java.numbers import decimal_text, float_text
from eosfw.config import Config, ConfigDef, String
from eosfw.data import STRING, ArrowValues, Schema, SchemaAndValue, Type, Utf8Strings
from eosfw.errors import DataError
from eosfw.text import type_name


@dataclass(frozen=True, slots=True)
class _Encoding(String):
    """The name of an encoding of text."""

    def parse(self, text: str) -> str:
        try:
            name = codecs.lookup(text.strip()).name
            "".encode(name)  # some codecs of Python turn bytes into bytes
        except LookupError:
            raise ValueError("there is no such encoding") from None
        return name


class StringConverter:
    """Writes text, numbers and booleans as Java does; bytes stay as they are (Kafka Connect's `StringConverter`)."""

    name: ClassVar[str] = "string"
    aliases: ClassVar = ("org.apache.kafka.connect.storage.StringConverter", "StringConverter")
    config: ClassVar = ConfigDef(_Encoding("converter.encoding", "utf-8", "encoding of the text"))

    def configure(self, config: Config) -> None:
        self._encoding = config["converter.encoding"]

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None or type(value) is bytes:
            return value
        return encoded_text(value if type(value) is str else _text(schema, value), self._encoding)

    def from_connect_columns(self, topic: str, schema: Schema | None, values: Sequence[Any]) -> Sequence[bytes | None]:
        """The bytes of all; strings whose bytes are at hand in this encoding are not read."""
        if isinstance(values, Utf8Strings) and self._encoding == "utf-8":
            return values.encoded
        if schema is not None and isinstance(values, ArrowValues):
            from eosfw.builtin.converters.string_columns import encoded_array

            made = encoded_array(self._encoding, values.array)
            if made is not None:
                return made
        return [self.from_connect_data(topic, schema, one) for one in values]

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        text = None if data is None else decoded_text(data, self._encoding)
        return SchemaAndValue(STRING.as_optional(), text)


def _text(schema: Schema | None, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value) if schema is not None and schema.type is Type.FLOAT32 else java_double(value)
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, (str, int)):
        return str(value)
    raise DataError(
        f"StringConverter takes text, numbers, booleans and bytes, not {type_name(value)}: choose json for it"
    )
