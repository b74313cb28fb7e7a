"""Debezium's semantic types: schemas of Kafka Connect whose names say what the values mean."""

from __future__ import annotations

from collections.abc import Sequence

from eosfw.data import FLOAT64, INT32, Field, Schema, Type

__all__ = [
    "GEOMETRY_POINT",
    "INTERVAL_TEXT",
    "ISO_DATE",
    "ISO_TIME",
    "ISO_TIMESTAMP",
    "JSON",
    "LTREE",
    "TSVECTOR",
    "UUID",
    "VARIABLE_SCALE_DECIMAL",
    "XML",
    "ZONED_TIME",
    "ZONED_TIMESTAMP",
    "bits",
    "enum",
    "time_type",
]

_OPTIONAL_BYTES = Schema(Type.BYTES, optional=True)


def _text(name: str) -> Schema:
    return Schema(Type.STRING, name=f"io.debezium.{name}", version=1)


JSON = _text("data.Json")
XML = _text("data.Xml")
UUID = _text("data.Uuid")
LTREE = _text("data.Ltree")
TSVECTOR = _text("data.Tsvector")
ISO_DATE = _text("time.IsoDate")
ISO_TIME = _text("time.IsoTime")
ISO_TIMESTAMP = _text("time.IsoTimestamp")
ZONED_TIME = _text("time.ZonedTime")
ZONED_TIMESTAMP = _text("time.ZonedTimestamp")
INTERVAL_TEXT = _text("time.Interval")

VARIABLE_SCALE_DECIMAL = Schema(
    Type.STRUCT,
    name="io.debezium.data.VariableScaleDecimal",
    version=1,
    doc="Variable scaled decimal",
    fields=(Field("scale", INT32), Field("value", Schema(Type.BYTES))),
)
GEOMETRY_POINT = Schema(
    Type.STRUCT,
    name="io.debezium.data.geometry.Point",
    version=1,
    doc="Geometry (POINT)",
    fields=(
        Field("x", FLOAT64),
        Field("y", FLOAT64),
        Field("wkb", _OPTIONAL_BYTES),
        Field("srid", Schema(Type.INT32, optional=True)),
    ),
)


def time_type(kind: Type, name: str) -> Schema:
    """The schema of a count of time: `Date`, `MicroTime` and the like."""
    return Schema(kind, name=f"io.debezium.time.{name}", version=1)


def bits(length: int) -> Schema:
    """The schema of bit strings of at most so many bits, the lowest byte first."""
    return Schema(Type.BYTES, name="io.debezium.data.Bits", version=1, parameters={"length": str(length)})


def enum(labels: Sequence[str]) -> Schema:
    """The schema of an enum with these values."""
    return Schema(Type.STRING, name="io.debezium.data.Enum", version=1, parameters={"allowed": ",".join(labels)})
