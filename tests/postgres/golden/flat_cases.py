"""Envelopes of which Debezium's `ExtractNewRecordState` was asked what it makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from eosfw.data import FLOAT64, INT32, STRING, Field, Schema, Type
from eosfw.records import SourceRecord
from eosfw_postgres.envelope.schemas import envelope
from kafka_connect.notation import shown_record

CLASS = "io.debezium.transforms.ExtractNewRecordState"
ROW = Schema(
    Type.STRUCT,
    name="p.public.t.Value",
    fields=(
        Field("id", INT32),
        Field("name", replace(STRING, optional=True, default="none")),
        Field("size", FLOAT64.as_optional()),
    ),
)
ENVELOPE = envelope("p.public.t.Envelope", ROW)
KEY = Schema(Type.STRUCT, name="p.public.t.Key", fields=(Field("id", INT32),))
SOURCE = {
    "version": "3",
    "connector": "postgresql",
    "name": "p",
    "ts_ms": 1,
    "snapshot": "false",
    "db": "d",
    "sequence": "[]",
    "ts_us": 1000,
    "ts_ns": 1_000_000,
    "schema": "public",
    "table": "t",
    "txId": 7,
    "lsn": 8,
    "xmin": None,
}
ONE, TWO = {"id": 1, "name": "one", "size": 1.5}, {"id": 2, "name": None, "size": None}
ROWS = {"c": (None, ONE), "r": (None, TWO), "u": (ONE, TWO), "d": (TWO, None), "t": (None, None)}
MODES = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
PROPERTIES: tuple[dict[str, str], ...] = (
    {},
    {"add.fields": "op,source.lsn,table,id,source.ts_ms:when,absent"},
    {"add.headers": "op,source.lsn,total_order", "add.headers.prefix": "h_"},
    {"route.by.field": "name"},
    {"replace.null.with.default": "false", "add.fields": "ts_ms", "add.fields.prefix": ""},
)


def records() -> Iterator[SourceRecord]:
    """The records to change."""
    for op, (before, after) in ROWS.items():
        transaction = {"id": "7:8", "total_order": 1, "data_collection_order": 2} if op == "u" else None
        value = {"before": before, "after": after, "source": SOURCE, "transaction": transaction, "op": op}
        value |= {"ts_ms": 5, "ts_us": 5000, "ts_ns": 5_000_000}
        yield SourceRecord("p.public.t", value, value_schema=ENVELOPE, key={"id": 1}, key_schema=KEY)
    yield SourceRecord("p.public.t", None, key={"id": 1}, key_schema=KEY)
    yield SourceRecord("other", {"id": 1, "name": "n", "size": None}, value_schema=ROW)


def questions() -> list[dict[str, Any]]:
    """Every record with every mode and the other properties."""
    return [
        {
            "operation": "transform",
            "class": CLASS,
            "properties": {"delete.tombstone.handling.mode": mode, **properties},
            "record": shown_record(record),
        }
        for mode, properties, record in product(MODES, PROPERTIES, records())
    ]
