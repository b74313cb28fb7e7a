"""JSON as a format: by a type, by a JSON Schema, or in the envelope of Kafka Connect's `JsonConverter`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from eosfw_spark.formats import wire_format
from eosfw_spark.formats.json.columns import JsonColumns, can_read
from eosfw_spark.formats.json.connect_schema import arrow_type, check_projection
from eosfw_spark.formats.json.values import converter, parse_json
from eosfw_spark.formats.undecodable import UndecodableError

_SCHEMA: Final = '{"schema":'
_PAYLOAD: Final = ',"payload":'


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """JSON of one type; `connect` says that logical types are written as Kafka Connect does."""

    type: pa.DataType
    connect: bool = False
    prefixed: bool = False
    """Whether the id of a schema stands before each document, as the serializers of a schema registry write it."""

    def deserializer(self) -> JsonDeserializer:
        """Make what decodes it in this process."""
        return JsonDeserializer(self)


class JsonDeserializer:
    """Decodes documents of one type."""

    def __init__(self, described: JsonFormat) -> None:
        self.type = described.type
        self._prefixed = described.prefixed
        self._convert = converter(described.type, connect=described.connect)
        fast = can_read(described.type, connect=described.connect)
        self._columns = JsonColumns(described.type, connect=described.connect) if fast else None

    def deserialize(self, data: bytes) -> Any:
        if self._prefixed:
            _, data = wire_format.split(data)
        # As `from_json` has it: what is empty is null.
        return self._convert(parse_json(data)) if data.strip() else None

    def deserialize_column(self, column: pa.Array) -> pa.Array | None:
        if self._columns is None:
            return None
        if self._prefixed:
            if not pc.all(pc.starts_with(column, b"\0")).as_py():
                return None
            column = pc.binary_slice(column, 5)
        return self._columns.read(column)


@dataclass(frozen=True, slots=True)
class EnvelopeFormat:
    """Envelopes whose first schema says what the columns are."""

    schema: str
    """The JSON text of the schema."""
    type: pa.DataType

    def deserializer(self) -> EnvelopeDeserializer:
        """Make what decodes it in this process."""
        return EnvelopeDeserializer(self)


class EnvelopeDeserializer:
    """Decodes each payload by the schema beside it, to the columns of the first schema."""

    def __init__(self, described: EnvelopeFormat) -> None:
        self.type = described.type
        self._schema = json.loads(described.schema)
        self._convert = converter(described.type, connect=True)
        self._columns = JsonColumns(self.type, connect=True) if can_read(self.type, connect=True) else None
        self._of_writer = lru_cache(64)(self._writer)

    def deserialize(self, data: bytes) -> Any:
        if not data.strip():
            return None
        envelope = parse_json(data)
        if not isinstance(envelope, dict) or envelope.keys() != {"schema", "payload"}:
            raise UndecodableError(
                'it is no envelope of "schema" and "payload", as JsonConverter writes with schemas.enable'
            )
        if envelope["payload"] is None:
            return None
        if envelope["schema"] == self._schema:
            return self._convert(envelope["payload"])
        return self._of_writer(json.dumps(envelope["schema"]))(envelope["payload"])

    def _writer(self, schema: str) -> Any:
        try:
            written = arrow_type(json.loads(schema))
        except ValueError as why:
            raise UndecodableError(f"its schema {why}") from None
        check_projection(written, self.type)
        return converter(written, connect=True)

    def deserialize_column(self, column: pa.Array) -> pa.Array | None:
        """Compare the texts of the schemas, each much longer than its payload, then read the payloads at once."""
        first = next((each.as_py() for each in column if each.is_valid), None)
        if self._columns is None or first is None or (prefix := self._prefix(first)) is None:
            return None
        values = column.fill_null(prefix + b"{}}")
        if not pc.all(pc.and_(pc.starts_with(values, prefix), pc.ends_with(values, b"}}"))).as_py():
            return None
        payloads = pc.binary_slice(values, len(prefix), -1)
        return self._columns.read(pc.if_else(column.is_valid(), payloads, pa.scalar(None, pa.binary())))

    def _prefix(self, data: bytes) -> bytes | None:
        """The text before the payload, if it is written without spaces and its schema is the one of the columns."""
        try:
            text = data.decode("utf-8")
            schema, end = json.JSONDecoder().raw_decode(text, len(_SCHEMA)) if text.startswith(_SCHEMA) else (None, 0)
        except ValueError:
            return None
        if schema is None or schema != self._schema or not text.startswith(_PAYLOAD, end):
            return None
        return text[: end + len(_PAYLOAD)].encode("utf-8")
