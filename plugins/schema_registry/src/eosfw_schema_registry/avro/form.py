"""How values and schemas of Kafka Connect are Avro: the properties of Confluent's `AvroData`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from eosfw.config import Boolean, Config, ConfigDef, Int
from eosfw.data import Schema, Type

AVRO_DATA: Final = ConfigDef(
    Boolean("connect.meta.data", True, "keep in the Avro schema what Avro has no words for, in properties connect.*"),
    Boolean("enhanced.avro.schema.support", False, "write enums as enums, and name members of unions in full"),
    Boolean("generalized.sum.type.support", False, "write enums as enums, and name members of unions by their place"),
    Boolean("scrub.invalid.names", False, "write names that Avro does not allow with other letters"),
    Boolean("allow.optional.map.keys", False, "write maps with optional texts as keys as Avro's maps"),
    Boolean("ignore.default.for.nullables", False, "write null, not the default, where a value is null"),
    Boolean("flatten.singleton.unions", True, "read a union of one type as that type"),
    Boolean("latest.compatibility.strict", True, "no effect: Avro's rules say what the latest schema is written by"),
    Int("schemas.cache.config", 1000, "how many schemas are kept with what was made for them", at_least=1),
)
NAMESPACE: Final = "io.confluent.connect.avro"
DEFAULT_NAME: Final = "ConnectDefault"
MAP_ENTRY: Final = "MapEntry"
KEY, VALUE = "key", "value"
UNION: Final = f"{NAMESPACE}.Union"
ENUM: Final = f"{NAMESPACE}.Enum"
GENERAL_UNION: Final = "org.apache.kafka.connect.data.Union"
GENERAL_ENUM: Final = "org.apache.kafka.connect.data.Enum"
FIXED_SIZE: Final = "connect.fixed.size"
PRECISION: Final = "connect.decimal.precision"
DEFAULT_PRECISION: Final = 64
DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
RECORD_DOC: Final = f"{NAMESPACE}.record.doc"
FIELD_DOC: Final = f"{NAMESPACE}.field.doc."
ENUM_DOC: Final = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT: Final = f"{NAMESPACE}.enum.default."
FIELD_DEFAULT: Final = f"{NAMESPACE}.field.default"


@dataclass(frozen=True, slots=True)
class AvroForm:
    """The properties that say what is written and read."""

    metadata: bool = True
    enhanced: bool = False
    generalized: bool = False
    scrub: bool = False
    optional_keys: bool = False
    ignore_default: bool = False
    flatten: bool = True

    @classmethod
    def of(cls, config: Config) -> AvroForm:
        """The form that properties of `AVRO_DATA` say."""
        return cls(*(config[name] for name in list(AVRO_DATA.keys)[:7]))

    def is_enum(self, schema: Schema) -> bool:
        """Whether texts of this schema are written as an enum."""
        if not (self.enhanced or self.generalized) or schema.type is not Type.STRING:
            return False
        return ENUM in schema.parameters or GENERAL_ENUM in schema.parameters

    @property
    def enum_parameter(self) -> str:
        """The parameter of a schema with the name of an enum; those behind it and a dot are its symbols."""
        return GENERAL_ENUM if self.generalized else ENUM

    def symbols(self, schema: Schema) -> list[str]:
        """The symbols of an enum."""
        start = f"{self.enum_parameter}."
        return [name.removeprefix(start) for name in schema.parameters if name.startswith(start)]

    def is_avro_map(self, schema: Schema) -> bool:
        """Whether a map is one of Avro, whose keys are texts; else it is an array of entries."""
        keys = schema.key_schema
        return keys is not None and keys.type is Type.STRING and (self.optional_keys or not keys.optional)


def is_union(schema: Schema) -> bool:
    """Whether a struct stands for a union: one of its fields is not null."""
    return schema.type is Type.STRUCT and (schema.name == UNION or GENERAL_UNION in schema.parameters)


def fixed_size(schema: Schema) -> int | None:
    """The size of bytes that are always as many."""
    if schema.type is not Type.BYTES or schema.name is None or FIXED_SIZE not in schema.parameters:
        return None
    return int(schema.parameters[FIXED_SIZE])
