"""Schemas and values of records (Kafka Connect's `org.apache.kafka.connect.data`).

A schema is made with the constants and functions here, or from what Python already says: `schema_of` takes a dataclass,
a TypedDict or a schema of pyarrow. A value is plain Python: for a STRUCT a dict, an instance of a dataclass, a named
tuple or a row. Whatever does not fit its schema is refused with the path of the field.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from eosfw.data.columns import ArrowValues, RepeatedValue, StructColumns, Utf8Strings, fitted_values, is_arrow, selected
from eosfw.data.fitting import default_of, fitted
from eosfw.data.logical import (
    DATE,
    TIME,
    TIMESTAMP,
    days_of,
    decimal,
    decimal_bytes,
    decimal_of,
    decimal_scale,
    millis_of_day,
    millis_since_1970,
    time_of_millis,
    timestamp_of_millis,
)
from eosfw.data.schema import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Field,
    Schema,
    SchemaAndValue,
    Type,
    array,
    map_of,
    struct,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from eosfw.data.projection import project
    from eosfw.data.python_types import dataclass_of

__all__ = [
    "BOOLEAN",
    "BYTES",
    "DATE",
    "FLOAT32",
    "FLOAT64",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "STRING",
    "TIME",
    "TIMESTAMP",
    "ArrowValues",
    "Field",
    "RepeatedValue",
    "Schema",
    "SchemaAndValue",
    "StructColumns",
    "Type",
    "Utf8Strings",
    "array",
    "arrow_schema_of",
    "dataclass_of",
    "days_of",
    "decimal",
    "decimal_bytes",
    "decimal_of",
    "decimal_scale",
    "default_of",
    "fitted",
    "fitted_values",
    "is_arrow",
    "map_of",
    "millis_of_day",
    "millis_since_1970",
    "project",
    "schema_of",
    "selected",
    "struct",
    "time_of_millis",
    "timestamp_of_millis",
]


_WHEN_ASKED_FOR = {"dataclass_of": "eosfw.data.python_types", "project": "eosfw.data.projection"}
"""Names that few programs need, with their modules: every `import eosfw` imports this package."""


def __getattr__(name: str) -> Any:
    if name not in _WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHEN_ASKED_FOR[name]), name)


def schema_of(kind: Any) -> Schema:
    """The schema of a dataclass, a TypedDict, an annotation such as `list[int]`, or a schema or type of pyarrow.

    DataError, with the path of the field, for what has no schema.
    """
    if is_arrow(kind):
        from eosfw.data.arrow import schema_of_arrow

        return schema_of_arrow(kind)
    from eosfw.data.python_types import schema_of_type

    return schema_of_type(kind)


def arrow_schema_of(schema: Schema) -> pa.Schema:
    """The schema of pyarrow with the fields of a STRUCT; needs pyarrow. DataError for another type."""
    from eosfw.data.arrow import to_arrow_schema

    return to_arrow_schema(schema)
