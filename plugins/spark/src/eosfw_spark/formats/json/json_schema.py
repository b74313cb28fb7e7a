"""Arrow types of JSON Schemas, as Confluent's and Kafka Connect's serializers register them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from eosfw_spark.formats.json import connect_schema
from eosfw_spark.formats.spark_types import TIMESTAMP, list_of

_PLAIN: Final = {"boolean": pa.bool_(), "integer": pa.int64(), "number": pa.float64(), "string": pa.string()}
_CONNECT: Final = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "bytes": pa.binary(),
}
"""What `connect.type` says more closely than JSON Schema does."""
_LOGICAL: Final = {
    "org.apache.kafka.connect.data.Date": pa.date32(),
    "org.apache.kafka.connect.data.Timestamp": TIMESTAMP,
}
_REMEDY: Final = "give value.schema as Spark DDL"


def arrow_type(text: str) -> pa.DataType:
    """The type of a schema; ValueError says which part has no column of Spark."""
    root = json.loads(text)
    return _Types(root).of(root, (), ())


class _Types:
    def __init__(self, root: Any) -> None:
        self._root = root

    def of(self, schema: Any, path: tuple[str, ...], within: tuple[str, ...]) -> pa.DataType:
        if not isinstance(schema, Mapping):
            raise _unsupported(path)
        reference = schema.get("$ref")
        if reference is not None:
            if reference in within:
                raise ValueError(f"refers to itself at {_shown(path)}, which no column of Spark does: {_REMEDY}")
            return self.of(self._referred(reference, path), path, (*within, reference))
        variants = schema.get("oneOf", schema.get("anyOf"))
        if variants is not None:
            return self._union(variants, path, within)
        kind = schema.get("type")
        if isinstance(kind, list):
            return self._union([{**schema, "type": each} for each in kind], path, within)
        return self._typed(schema, str(kind), path, within)

    def _union(self, variants: Any, path: tuple[str, ...], within: tuple[str, ...]) -> pa.DataType:
        given = [each for each in variants if each != {"type": "null"} and each.get("type") != "null"]
        if len(given) != 1:
            raise _unsupported(path)
        return self.of(given[0], path, within)

    def _typed(self, schema: Mapping[str, Any], kind: str, path: tuple[str, ...], within: Any) -> pa.DataType:
        title = schema.get("title")
        if title == connect_schema.DECIMAL:
            return connect_schema.arrow_type({"type": "bytes", "name": title, "parameters": _parameters(schema)})
        if title in _LOGICAL and kind == "integer":
            return _LOGICAL[title]
        if kind == "object":
            return self._object(schema, path, within)
        if kind == "array":
            if schema.get("connect.type") == "map":
                pair = schema.get("items", {}).get("properties", {})
                inner = [self.of(pair.get(name), (*path, name), within) for name in ("key", "value")]
                return pa.map_(*inner)
            return list_of(self.of(schema.get("items"), (*path, "[]"), within))
        if kind not in _PLAIN:
            raise _unsupported(path)
        return _CONNECT.get(str(schema.get("connect.type")), _PLAIN[kind])

    def _object(self, schema: Mapping[str, Any], path: tuple[str, ...], within: Any) -> pa.DataType:
        fields = schema.get("properties")
        if isinstance(fields, Mapping) and fields:
            # Kafka Connect keeps the order of the fields beside them: an object of JSON has none.
            ordered = sorted(fields, key=lambda name: _index(fields[name]))
            return pa.struct([pa.field(name, self.of(fields[name], (*path, name), within)) for name in ordered])
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping):
            return pa.map_(pa.string(), self.of(values, (*path, "{}"), within))
        raise _unsupported(path)

    def _referred(self, reference: Any, path: tuple[str, ...]) -> Any:
        found = self._root
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise ValueError(f"refers to another document at {_shown(path)}: {_REMEDY}")
        for part in [each for each in reference[1:].split("/") if each]:
            found = found.get(part) if isinstance(found, Mapping) else None
        if found is None:
            raise ValueError(f"refers to what it does not have at {_shown(path)}")
        return found


def _index(schema: Any) -> int:
    found = schema.get("connect.index", 0) if isinstance(schema, Mapping) else 0
    return found if isinstance(found, int) else 0


def _parameters(schema: Mapping[str, Any]) -> Any:
    return schema.get("connect.parameters", {})


def _unsupported(path: Sequence[str]) -> ValueError:
    return ValueError(f"has no single type of a column at {_shown(path)}: {_REMEDY}")


def _shown(path: Sequence[str]) -> str:
    return ".".join(path) if path else "its top"
