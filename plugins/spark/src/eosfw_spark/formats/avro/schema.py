"""Avro schemas: their types in Arrow, as Spark's `from_avro` has them, and the form that fastavro decodes by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from eosfw_spark.formats.spark_types import TIMESTAMP, TIMESTAMP_NTZ, list_of

_PLAIN: Final = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL: Final = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): TIMESTAMP,
    ("long", "timestamp-micros"): TIMESTAMP,
    ("long", "local-timestamp-millis"): TIMESTAMP_NTZ,
    ("long", "local-timestamp-micros"): TIMESTAMP_NTZ,
}
_DECODED: Final = {*(name for _, name in _LOGICAL), "decimal"}
"""The logical types that fastavro is to decode; a time stays a number, as in `from_avro`, an UUID a text."""
_NAMED: Final = ("record", "error", "enum", "fixed")
_NUMBERS: Final = ({"int", "long"}, {"float", "double"})
"""Unions that `from_avro` makes the wider type of."""


def arrow_type(schema: Any) -> pa.DataType:
    """The type of a schema that was read from JSON; ValueError says which part has no column of Spark."""
    return _Types().of(schema, "", ())


class _Types:
    def __init__(self) -> None:
        self._named: dict[str, Any] = {}

    def of(self, schema: Any, namespace: str, within: tuple[str, ...]) -> pa.DataType:
        if isinstance(schema, list):
            return self._union(schema, namespace, within)
        if isinstance(schema, str):
            return _PLAIN[schema] if schema in _PLAIN else self._reference(schema, namespace, within)
        kind = schema["type"]
        if kind in _NAMED:
            return self._definition(schema, full_name(schema["name"], schema.get("namespace", namespace)), within)
        if kind == "array":
            return list_of(self.of(schema["items"], namespace, within))
        if kind == "map":
            return pa.map_(pa.string(), self.of(schema["values"], namespace, within))
        return self._logical(schema) or self.of(kind, namespace, within)

    def _definition(self, schema: Any, name: str, within: tuple[str, ...]) -> pa.DataType:
        self._named[name] = schema
        if schema["type"] in ("record", "error"):
            space, inside = name.rpartition(".")[0], (*within, name)
            return pa.struct(
                [pa.field(each["name"], self.of(each["type"], space, inside)) for each in schema["fields"]]
            )
        if schema["type"] == "enum":
            return pa.string()
        return self._logical(schema) or pa.binary()

    def _logical(self, schema: Any) -> pa.DataType | None:
        kind, logical = schema["type"], schema.get("logicalType")
        if logical == "decimal" and kind in ("bytes", "fixed"):
            return _decimal(schema)
        return _LOGICAL.get((kind, logical)) if isinstance(kind, str) else None

    def _reference(self, name: str, namespace: str, within: tuple[str, ...]) -> pa.DataType:
        full = full_name(name, namespace)
        full = full if full in self._named else name
        if full in within:
            raise ValueError(f"has the record {full} within itself, which no column of Spark has")
        if full not in self._named:
            raise ValueError(f"has the unknown type {name}")
        return self.of(self._named[full], full.rpartition(".")[0], within)

    def _union(self, branches: list[Any], namespace: str, within: tuple[str, ...]) -> pa.DataType:
        given = [each for each in branches if each not in ("null", {"type": "null"})]
        if len(given) == 1:
            return self.of(given[0], namespace, within)
        kinds = {each if isinstance(each, str) else "" for each in given}
        if kinds in _NUMBERS:
            return pa.int64() if "long" in kinds else pa.float64()
        raise ValueError(
            "has a union of several types, which no column of Spark has: give value.schema with one of them"
        )


def full_name(name: str, namespace: str) -> str:
    """The name of a record, enum or fixed with its namespace."""
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _decimal(schema: Mapping[str, Any]) -> pa.DataType:
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    # Kafka Connect states a precision of 64 where it knows none; Spark has 38 digits at most.
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= min(precision, 38):
        raise ValueError(f"has a decimal of precision {precision} and scale {scale}; Spark has 38 digits at most")
    return pa.decimal128(min(precision, 38), scale)


def decoded_form(schema: Any) -> Any:
    """The schema without the logical types that columns show as plain ones."""
    if isinstance(schema, list):
        return [decoded_form(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {name: value for name, value in schema.items() if name != "logicalType" or value in _DECODED}
    for name in ("type", "items", "values"):
        if name in kept:
            kept[name] = decoded_form(kept[name])
    if isinstance(kept.get("fields"), list):
        kept["fields"] = [{**each, "type": decoded_form(each["type"])} for each in kept["fields"]]
    return kept
