"""Words that Confluent's `ProtobufData` puts into Protobuf schemas and into schemas of Kafka Connect."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote_plus

from eosfw.data import (
    DATE,
    TIME,
    TIMESTAMP,
    Schema,
    Type,
    decimal,
)
from eosfw.errors import DataError

DECIMAL_NAME: Final = decimal(0).name
NAMESPACE: Final = "io.confluent.connect.protobuf"
ENUM: Final = f"{NAMESPACE}.Enum"
"""The parameter with the name of an enum; each of its values has one of its own, behind a dot, with its number."""
UNION: Final = f"{NAMESPACE}.Union"
"""What the name of a struct begins with of which one field alone is not null: a oneof."""
UNION_NAME: Final = f"{UNION}."
TAG: Final = f"{NAMESPACE}.Tag"
"""The parameter with the number of a field."""
PROTO_TYPE: Final = f"{NAMESPACE}.Type"
"""The parameter with the type of a number, such as sint32, where Kafka Connect has no such type."""
WRAPPER: Final = f"{NAMESPACE}.Wrapper"
"""The parameter of a field of a oneof that is a wrapper message."""
CONNECT_TYPE: Final = "connect.type"
PRECISION: Final = "connect.decimal.precision"
SCALE: Final = "scale"
DEFAULT_NAME: Final = "ConnectDefault"
ENTRY: Final = "Entry"
KEY: Final = "key"
VALUE: Final = "value"

DECIMAL_MESSAGE: Final = "confluent.type.Decimal"
DATE_MESSAGE: Final = "google.type.Date"
TIME_MESSAGE: Final = "google.type.TimeOfDay"
TIMESTAMP_MESSAGE: Final = "google.protobuf.Timestamp"
LOGICAL: Final = {
    DECIMAL_NAME: DECIMAL_MESSAGE,
    DATE.name: DATE_MESSAGE,
    TIME.name: TIME_MESSAGE,
    TIMESTAMP.name: TIMESTAMP_MESSAGE,
}
"""The messages of logical types."""
WRAPPERS: Final = {
    Type.INT8: "google.protobuf.Int32Value",
    Type.INT16: "google.protobuf.Int32Value",
    Type.INT32: "google.protobuf.Int32Value",
    Type.INT64: "google.protobuf.Int64Value",
    Type.FLOAT32: "google.protobuf.FloatValue",
    Type.FLOAT64: "google.protobuf.DoubleValue",
    Type.BOOLEAN: "google.protobuf.BoolValue",
    Type.STRING: "google.protobuf.StringValue",
    Type.BYTES: "google.protobuf.BytesValue",
}
"""Messages with one field, `value`, for what may be null."""
UNSIGNED_WRAPPERS: Final = {
    **dict.fromkeys(("uint32", "fixed32"), "google.protobuf.UInt32Value"),
    **dict.fromkeys(("uint64", "fixed64"), "google.protobuf.UInt64Value"),
}
_UNCHANGED: Final = re.compile("[A-Za-z][A-Za-z0-9_]*")
_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_INVALID: Final = re.compile("[^A-Za-z0-9_]")


def is_union(schema: Schema) -> bool:
    """Whether a struct is a oneof."""
    return schema.type is Type.STRUCT and schema.name is not None and schema.name.startswith(UNION)


def scrubbed(name: str) -> str:
    """A name with what Protobuf takes alone."""
    if not name or _UNCHANGED.fullmatch(name):
        return name
    # As Java's URLEncoder has it, which escapes a tilde and leaves an asterisk.
    encoded = quote_plus(name, safe="*").replace("~", "%7E")
    return _INVALID.sub("_", f"x{encoded}" if encoded[0].isdigit() or encoded[0] == "_" else encoded)


def valid(name: str) -> str:
    """The name; DataError for one that Protobuf does not take."""
    if not _NAME.fullmatch(name):
        what = f"{name!r} is no name in Protobuf"
        raise DataError(f"{what}: say scrub.invalid.names=true, or name it by letters, digits, _")
    return name


def map_entry(name: str) -> str:
    """The message of an entry of a map."""
    return f"{''.join(part.capitalize() for part in name.split('_')) if '_' in name else name}{ENTRY}"


def map_name(entry: str) -> str:
    """The name of a map by the message of its entries, with its package or without."""
    package, dot, last = entry.rpartition(".")
    last = last.removesuffix(ENTRY)
    return f"{package}{dot}{re.sub('(?<!^)(?=[A-Z])', '_', last).lower()}"


def part_of(schema: Schema | None) -> Schema:
    """The schema of a part, which an ARRAY or MAP has."""
    if schema is None:
        raise DataError("an ARRAY or MAP has the schemas of its parts")
    return schema
