"""The schemas of Debezium's envelope that are the same for every table."""

from __future__ import annotations

from dataclasses import replace

from eosfw.data import INT64, STRING, Field, Schema, Type

__all__ = ["SOURCE", "TRANSACTION", "envelope"]

_LONG = INT64.as_optional()
_TEXT = STRING.as_optional()

_SNAPSHOT = Schema(
    Type.STRING,
    optional=True,
    default="false",
    name="io.debezium.data.Enum",
    version=1,
    parameters={"allowed": "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"},
)
SOURCE = Schema(
    Type.STRUCT,
    name="io.debezium.connector.postgresql.Source",
    version=1,
    fields=(
        Field("version", STRING),
        Field("connector", STRING),
        Field("name", STRING),
        Field("ts_ms", INT64),
        Field("snapshot", _SNAPSHOT),
        Field("db", STRING),
        Field("sequence", _TEXT),
        Field("ts_us", _LONG),
        Field("ts_ns", _LONG),
        Field("schema", STRING),
        Field("table", STRING),
        Field("txId", _LONG),
        Field("lsn", _LONG),
        Field("xmin", _LONG),
    ),
)
TRANSACTION = Schema(
    Type.STRUCT,
    optional=True,
    name="event.block",
    version=1,
    fields=(Field("id", STRING), Field("total_order", INT64), Field("data_collection_order", INT64)),
)


def envelope(name: str, row: Schema) -> Schema:
    """The schema of the values of a table, whose rows have a schema."""
    row = replace(row, optional=True)
    return Schema(
        Type.STRUCT,
        name=name,
        version=2,
        fields=(
            Field("before", row),
            Field("after", row),
            Field("source", SOURCE),
            Field("transaction", TRANSACTION),
            Field("op", STRING),
            Field("ts_ms", _LONG),
            Field("ts_us", _LONG),
            Field("ts_ns", _LONG),
        ),
    )
