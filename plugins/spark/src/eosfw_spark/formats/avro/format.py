"""Avro as a format: each record by its writer's schema, resolved to one reader's schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import fastavro
import pyarrow as pa

from eosfw_spark.formats import wire_format
from eosfw_spark.formats.avro.schema import arrow_type, decoded_form
from eosfw_spark.formats.registry import SchemaRegistry, StoredSchema, WriterSchemas, kept_registry
from eosfw_spark.formats.undecodable import UndecodableError


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """Avro for one reader's schema; without a registry it is the writers', too."""

    schema: StoredSchema
    type: pa.DataType
    registry: Mapping[str, str] = field(default_factory=dict, repr=False)

    def deserializer(self) -> AvroDeserializer:
        """Make what decodes it in this process."""
        return AvroDeserializer(self, kept_registry(self.registry) if self.registry else None)


def read_schema(stored: StoredSchema) -> AvroFormat:
    """The format of a reader's schema; ValueError says what is wrong with it."""
    try:
        parsed = [json.loads(each) for each in (*(text for _, text in stored.references), stored.text)]
    except ValueError:
        raise ValueError("is no JSON") from None
    _fastavro(stored)
    if len(parsed) == 1:
        return AvroFormat(stored, arrow_type(parsed[0]))
    return AvroFormat(stored, _with_references(parsed))


def _with_references(parsed: list[Any]) -> pa.DataType:
    # In a record of all schemas each one knows the names of those before it.
    fields = [{"name": f"s{number}", "type": each} for number, each in enumerate(parsed)]
    return arrow_type({"type": "record", "name": "all", "fields": fields}).field(len(parsed) - 1).type


def _fastavro(stored: StoredSchema) -> Any:
    named: dict[str, Any] = {}
    try:
        for _, each in stored.references:
            fastavro.parse_schema(decoded_form(json.loads(each)), named)
        return fastavro.parse_schema(decoded_form(json.loads(stored.text)), named)
    except Exception as why:  # noqa: BLE001 - its own errors have no common base, and a schema may be any JSON
        raise ValueError(f"is no Avro schema ({type(why).__name__})") from None


class AvroDeserializer:
    """Decodes records of any writer."""

    def __init__(self, described: AvroFormat, registry: SchemaRegistry | None) -> None:
        self.type = described.type
        self._reader = _fastavro(described.schema)
        self._writers = None if registry is None else WriterSchemas(registry, "AVRO", _fastavro)

    def deserialize(self, data: bytes) -> Any:
        writer = self._reader
        if self._writers is not None:
            number, data = wire_format.split(data)
            writer = self._writers.of(number)
        stream = BytesIO(data)
        try:
            value = fastavro.schemaless_reader(stream, writer, self._reader)
        except Exception:  # noqa: BLE001 - whatever damaged bytes lead to; the text of the error may show some of them
            raise UndecodableError("it does not fit its Avro schema") from None
        if stream.tell() != len(data):
            raise UndecodableError("it goes on behind the end of its Avro schema")
        return value

    def deserialize_column(self, column: pa.Array) -> pa.Array | None:
        return None
