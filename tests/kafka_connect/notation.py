"""Schemas and values between the notation of `kafka_connect.java` and `eosfw.data`."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from eosfw.builtin.connect_json import java_double
from eosfw.builtin.java.numbers import float_text, single
from eosfw.builtin.java.times import millis
from eosfw.data import DATE, TIME, Field, Schema, SchemaAndValue, Type
from eosfw.records import SourceRecord

__all__ = ["comparable", "read_record", "read_schema", "read_value", "shown_record", "shown_schema", "shown_value"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_schema(node: Any) -> Schema | None:
    """The schema that a node stands for."""
    if node is None:
        return None
    fields = tuple(Field(one["name"], _present(one["schema"])) for one in node.get("fields", ()))
    made = Schema(
        Type(node["type"]),
        optional=node.get("optional", False),
        name=node.get("name"),
        version=node.get("version"),
        doc=node.get("doc"),
        parameters=node.get("parameters", {}),
        fields=fields,
        key_schema=read_schema(node.get("keys")),
        value_schema=read_schema(node.get("values")),
    )
    if "default" not in node:
        return made
    return replace(made, default=read_value(made, node["default"]))


def _present(node: Any) -> Schema:
    made = read_schema(node)
    assert made is not None
    return made


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "float32": lambda one: single(float(one)),
    "float64": float,
    "bytes": base64.b64decode,
    "decimal": Decimal,
}


def read_value(schema: Schema | None, node: Any) -> Any:
    """The value that a node stands for, in the form that `eosfw.data.fitted` gives."""
    if node is None:
        return None
    [(tag, inner)] = node.items()
    if tag == "array":
        return [read_value(schema and schema.value_schema, one) for one in inner]
    if tag == "map":
        of_keys, of_values = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
        return {read_value(of_keys, key): read_value(of_values, one) for key, one in inner}
    if tag == "struct":
        assert schema is not None
        return {name: read_value(schema.field(name), one) for name, one in inner}
    if tag == "date":
        return _moment(schema, inner)
    return _READERS.get(tag, lambda one: one)(inner)


def _moment(schema: Schema | None, number: int) -> Any:
    moment = _EPOCH + timedelta(milliseconds=number)
    name = None if schema is None else schema.name
    return moment.date() if name == DATE.name else moment.time() if name == TIME.name else moment


def shown_schema(schema: Schema | None) -> Any:
    """The node of a schema."""
    if schema is None:
        return None
    node: dict[str, Any] = {"type": schema.type.value}
    given = {
        "optional": schema.optional or None,
        "name": schema.name,
        "version": schema.version,
        "doc": schema.doc,
        "parameters": dict(schema.parameters) or None,
        "fields": [{"name": one.name, "schema": shown_schema(one.schema)} for one in schema.fields],
        "keys": shown_schema(schema.key_schema),
        "values": shown_schema(schema.value_schema),
        "default": shown_value(schema, schema.default),
    }
    if schema.type is not Type.STRUCT:
        del given["fields"]
    return node | {name: one for name, one in given.items() if one is not None}


def shown_value(schema: Schema | None, value: Any) -> Any:
    """The node of a value."""
    if value is None:
        return None
    if isinstance(value, (date, time)):
        return {"date": millis(value)}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, list):
        return {"array": [shown_value(schema and schema.value_schema, one) for one in value]}
    if isinstance(value, dict):
        return _shown_dict(schema, value)
    return _shown_primitive(schema, value)


def _shown_dict(schema: Schema | None, value: Mapping[Any, Any]) -> Any:
    if schema is not None and schema.type is Type.STRUCT:
        assert tuple(value) == schema.names, "a struct has all of its fields, in their order"
        return {"struct": [[name, shown_value(schema.field(name), one)] for name, one in value.items()]}
    of_keys, of_values = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
    return {"map": [[shown_value(of_keys, key), shown_value(of_values, one)] for key, one in value.items()]}


_INFERRED = {bool: "boolean", int: "int64", float: "float64", str: "string", bytes: "bytes"}


def _shown_primitive(schema: Schema | None, value: Any) -> Any:
    tag = _INFERRED[type(value)] if schema is None else schema.type.value
    if isinstance(value, bytes):
        return {tag: base64.b64encode(value).decode()}
    if isinstance(value, float):
        return {tag: float_text(value) if tag == "float32" else java_double(value)}
    return {tag: value}


def read_record(node: Mapping[str, Any]) -> SourceRecord:
    """The record that a node stands for."""
    key_schema, value_schema = read_schema(node.get("key_schema")), read_schema(node.get("value_schema"))
    return SourceRecord(
        node.get("topic", "topic"),
        read_value(value_schema, node.get("value")),
        read_value(key_schema, node.get("key")),
        partition=node.get("partition"),
        timestamp=node.get("timestamp"),
        headers=tuple((name, _header(schema, value)) for name, schema, value in node.get("headers", ())),
        key_schema=key_schema,
        value_schema=value_schema,
    )


def _header(schema_node: Any, value_node: Any) -> Any:
    schema = read_schema(schema_node)
    value = read_value(schema, value_node)
    return value if schema is None else SchemaAndValue(schema, value)


def shown_record(record: SourceRecord) -> dict[str, Any]:
    """The node of a record, without what is null."""
    node = {
        "topic": record.topic,
        "partition": record.partition,
        "key_schema": shown_schema(record.key_schema),
        "key": shown_value(record.key_schema, record.key),
        "value_schema": shown_schema(record.value_schema),
        "value": shown_value(record.value_schema, record.value),
        "timestamp": record.timestamp,
        "headers": [_shown_header(name, value) for name, value in record.headers] or None,
    }
    return {name: one for name, one in node.items() if one is not None}


def _shown_header(name: str, value: Any) -> Any:
    schema, value = value if isinstance(value, SchemaAndValue) else (None, value)
    return [name, shown_schema(schema), shown_value(schema, value)]


def comparable(record: Mapping[str, Any]) -> dict[str, Any]:
    """The node of a record without what Python's values do not say: the order of maps, the width of numbers without
    schema, and digits behind the point that are zero.
    """
    made = {name: _unordered(one) for name, one in record.items()}
    for part in ("key", "value"):
        if made.get(part) is not None and made.get(f"{part}_schema") is None:
            made[part] = _wide(made[part])
    if made.get("headers") is not None:
        made["headers"] = [_comparable_header(*one) for one in made["headers"]]
    return made


def _comparable_header(name: str, schema: Any, value: Any) -> Any:
    """A header; Java's array or map without a schema of its elements has none at all here."""
    if schema is None or (schema["type"] in ("array", "map") and schema.get("values") is None):
        return [name, None, _wide(value)]
    return [name, schema, value]


def _unordered(node: Any) -> Any:
    if isinstance(node, list):
        return [_unordered(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {name: _unordered(one) for name, one in node.items()}
    if "float32" in made:  # Java before 19 writes more digits than it needs
        made["float32"] = float_text(single(float(made["float32"])))
    if "decimal" in made:
        made["decimal"] = str(Decimal(made["decimal"]).normalize())
    return made | {"map": sorted(made["map"], key=json.dumps)} if "map" in made else made


def _wide(node: Any) -> Any:
    if isinstance(node, list):
        return [_wide(one) for one in node]
    if not isinstance(node, dict):
        return node
    [(tag, inner)] = node.items()
    if tag in ("int8", "int16", "int32"):
        return {"int64": inner}
    return {"float64": java_double(single(float(inner)))} if tag == "float32" else {tag: _wide(inner)}
