"""What Debezium has written of `debezium_cases.py`, and what eosfw writes of the same, in the same form."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from eosfw.builtin.converters.json import JsonConverter
from eosfw.data import Schema, fitted

ANSWERS = Path(__file__).with_name("debezium.json.gz")


@cache
def answers() -> dict[str, Any]:
    """`tables`, `types` and `records`, as `record_debezium.py` writes them."""
    read: dict[str, Any] = json.loads(gzip.decompress(ANSWERS.read_bytes()))
    return read


def recorded(mode: str, table: str) -> tuple[list[Any], list[Any]]:
    """The schemas and the records of a topic."""
    topic = answers()["records"][mode][f"{mode}.public.{table}"]
    return topic["schemas"], topic["records"]


def envelope_schema(mode: str, table: str) -> dict[str, Any]:
    """The schema of the values of a topic."""
    schemas, _ = recorded(mode, table)
    return next(one for one in schemas if one.get("name", "").endswith("Envelope"))


def as_json(schema: Schema, value: Any) -> Any:
    """Schema and payload as Kafka Connect's JsonConverter writes them, read again."""
    converter = JsonConverter()
    converter.configure(JsonConverter.config.parse({}))
    written = converter.from_connect_data("topic", schema, fitted(schema, value))
    assert written is not None
    return json.loads(written)
