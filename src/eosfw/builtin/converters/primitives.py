"""The converters of single numbers and booleans to bytes of a fixed length, big-endian."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any, ClassVar

from eosfw.builtin.converters.byte_array import CONVERTER_PACKAGE
from eosfw.config import Config, ConfigDef
from eosfw.data import BOOLEAN, FLOAT32, FLOAT64, INT16, INT32, INT64, Schema, SchemaAndValue, fitted
from eosfw.data.columns import as_list
from eosfw.errors import DataError

__all__ = [
    "PRIMITIVE_CONVERTERS",
    "BooleanConverter",
    "DoubleConverter",
    "FloatConverter",
    "IntegerConverter",
    "LongConverter",
    "PrimitiveConverter",
    "ShortConverter",
]


class PrimitiveConverter:
    """Writes values of one type as Kafka's serializer of that type, and reads them back."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]]
    config: ClassVar = ConfigDef()
    schema: ClassVar[Schema]
    """Of the values, which are not null."""
    layout: ClassVar[Struct]
    python_type: ClassVar[type]
    deserializer: ClassVar[str]
    """The name that messages of Kafka have."""

    def configure(self, config: Config) -> None:
        """Take no properties."""

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        self._refuse_other(schema)
        try:
            return self.layout.pack(fitted(self.schema, value))
        except DataError as why:
            raise DataError(f"Failed to serialize to {self.name}: {why}") from None

    def from_connect_columns(self, topic: str, schema: Schema | None, values: Sequence[Any]) -> Sequence[bytes | None]:
        column = as_list(values)
        # `struct` would take a boolean for a number.
        if {*map(type, column)} - {self.python_type} or (schema is not None and schema.type is not self.schema.type):
            return [self.from_connect_data(topic, schema, one) for one in column]
        width, code = self.layout.size, self.layout.format[1:]
        data = Struct(f">{len(column)}{code}").pack(*column)
        return [data[at : at + width] for at in range(0, len(data), width)]

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        return SchemaAndValue(self.schema.as_optional(), None if data is None else self._read(data))

    def _read(self, data: bytes) -> Any:
        if len(data) != self.layout.size:
            raise self._unreadable(f"Size of data received by {self.deserializer} is not {self.layout.size}")
        return self.layout.unpack(data)[0]

    def _unreadable(self, why: str) -> DataError:
        return DataError(f"Failed to deserialize {self.name}: {why}")

    def _refuse_other(self, schema: Schema | None) -> None:
        if schema is not None and schema.type is not self.schema.type:
            raise DataError(f"Failed to serialize to {self.name} (was {schema.type.name})")


class BooleanConverter(PrimitiveConverter):
    """Writes a byte, 1 or 0 (Kafka Connect's `BooleanConverter`)."""

    name: ClassVar[str] = "boolean"
    aliases: ClassVar = (f"{CONVERTER_PACKAGE}.converters.BooleanConverter", "BooleanConverter")
    schema: ClassVar = BOOLEAN
    layout: ClassVar = Struct(">?")
    python_type: ClassVar = bool
    deserializer: ClassVar[str] = "BooleanDeserializer"

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        # Kafka Connect's looks at the schema of a null, too; its converters of numbers do not.
        if schema is not None and schema.type is not self.schema.type:
            raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.name}")
        if value is not None and not isinstance(value, bool):
            raise DataError(f"BooleanConverter is not compatible with objects of type {type(value).__name__}")
        return super().from_connect_data(topic, schema, value)

    def _read(self, data: bytes) -> Any:
        if len(data) == 1 and data not in (b"\0", b"\1"):
            # Kafka's message shows the byte, which is the value.
            raise self._unreadable("Unexpected byte received by BooleanDeserializer")
        return super()._read(data)


def _number_converter(name: str, schema: Schema, code: str, deserializer: str = "Deserializer") -> Any:
    """A converter of numbers (Kafka Connect's `NumberConverter`)."""
    label, layout = f"{name.capitalize()}Converter", Struct(f">{code}")
    members = {
        "__module__": __name__,
        "__doc__": f"Writes {layout.size} bytes (Kafka Connect's `{label}`).",
        "name": name,
        "aliases": (f"{CONVERTER_PACKAGE}.converters.{label}", label),
        "schema": schema,
        "layout": layout,
        "python_type": float if code in "fd" else int,
        "deserializer": deserializer,
    }
    return type(label, (PrimitiveConverter,), members)


ShortConverter = _number_converter("short", INT16, "h", "ShortDeserializer")
IntegerConverter = _number_converter("integer", INT32, "i", "IntegerDeserializer")
LongConverter = _number_converter("long", INT64, "q", "LongDeserializer")
FloatConverter = _number_converter("float", FLOAT32, "f")
DoubleConverter = _number_converter("double", FLOAT64, "d")
PRIMITIVE_CONVERTERS: Sequence[type[PrimitiveConverter]] = (
    BooleanConverter,
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    ShortConverter,
)
