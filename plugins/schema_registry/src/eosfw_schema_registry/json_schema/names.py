"""Words that Confluent's `JsonSchemaData` puts into JSON Schemas and into schemas of Kafka Connect."""

from __future__ import annotations

from typing import Final

from eosfw.data import Schema, Type, decimal
from eosfw.errors import DataError

DECIMAL_NAME: Final = decimal(0).name
NAMESPACE: Final = "io.confluent.connect.json"
ENUM: Final = f"{NAMESPACE}.Enum"
"""The parameter of a string of a few values; each value has one of its own, behind a dot."""
ONE_OF: Final = f"{NAMESPACE}.OneOf"
"""The name of a struct of which one field alone is not null."""
ONE_OF_FIELD: Final = f"{ONE_OF}.field."
NULL: Final = "<NULL>"
"""The value of an enum that stands for null."""
CONNECT_TYPE: Final = "connect.type"
CONNECT_VERSION: Final = "connect.version"
CONNECT_PARAMETERS: Final = "connect.parameters"
CONNECT_INDEX: Final = "connect.index"
KEY: Final = "key"
VALUE: Final = "value"
"""The members of an object that is an entry of a map whose keys are no texts."""


def is_union(schema: Schema) -> bool:
    """Whether a struct is written as the one field that it has."""
    return schema.type is Type.STRUCT and schema.name == ONE_OF


def has_names_for_keys(schema: Schema) -> bool:
    """Whether a map is a JSON object."""
    keys = schema.key_schema
    return keys is not None and keys.type is Type.STRING and not keys.optional


def part_of(schema: Schema | None) -> Schema:
    """The schema of a part, which an ARRAY or MAP has."""
    if schema is None:
        raise DataError("an ARRAY or MAP has the schemas of its parts")
    return schema
