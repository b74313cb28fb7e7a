"""JSON read as Kafka Connect's JsonConverter reads it, with the schema of its envelope or without.

What Jackson would make something else of is refused: a number where a text is wanted, or one beyond the range of its
type. Texts that `JsonConverter` writes for NaN and infinite numbers are read as these; Kafka Connect reads 0.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from eosfw.builtin.connect_json import LONG
from eosfw.builtin.java.numbers import single
from eosfw.builtin.java.times import MILLIS_PER_DAY, date_of, time_of, timestamp_of
from eosfw.data import DATE, TIME, TIMESTAMP, Field, Schema, SchemaAndValue, Type, default_of, fitted
from eosfw.data.logical import DECIMAL_NAME, decimal_of, decimal_scale
from eosfw.errors import DataError

__all__ = ["parse_json", "read_envelope", "read_payload", "read_schema", "read_value"]

_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields. '
    "If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)
_NAMES = {Type.FLOAT32: "float", Type.FLOAT64: "double"}
_TYPES = {_NAMES.get(one, one.value): one for one in Type}
_NOT_FINITE = frozenset(("NaN", "Infinity", "-Infinity"))
_Path = tuple[object, ...]


def parse_json(data: bytes) -> Any:
    """The document; numbers with a point or an exponent are Decimals. DataError, without the data, for what is none."""
    try:
        return json.loads(data, parse_float=Decimal, parse_constant=_refuse_constant) if data else None
    except (ValueError, RecursionError):  # also of bytes that are no text, or of thousands of digits
        raise DataError(
            "Converting byte[] to Kafka Connect data failed due to serialization error: it is no JSON"
        ) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def read_envelope(document: Any, *, replace_null: bool) -> SchemaAndValue:
    """The payload of an envelope, with its schema."""
    if not isinstance(document, dict) or document.keys() != {"schema", "payload"}:
        raise DataError(_ENVELOPE)
    reading = _Reading(replace_null)
    schema = None if document["schema"] is None else reading.schema(document["schema"])
    return SchemaAndValue(schema, reading.whole(schema, document["payload"]))


def read_schema(document: Any) -> Schema:
    """The schema that a document describes, as the envelope has it; DataError if it describes none."""
    return _Reading(replace_null=True).schema(document)


def read_payload(schema: Schema, document: Any) -> Any:
    """A document as a value of a schema; DataError, with the path of the field and without its value, if it is none."""
    return _Reading(replace_null=True).whole(schema, document)


def read_value(document: Any) -> Any:
    """The value of a document without envelope."""
    return _Reading(replace_null=True).whole(None, document)


@dataclass(frozen=True, slots=True)
class _Reading:
    replace_null: bool

    def whole(self, schema: Schema | None, node: Any) -> Any:
        """The value of a document; DataError, with the path of the field, if it does not fit its schema."""
        return _inferred(node, ()) if schema is None else fitted(schema, self._value(schema, node, ()))

    def schema(self, node: Any) -> Schema:
        """The schema that a node stands for."""
        kind = node.get("type") if isinstance(node, dict) else None
        if not isinstance(kind, str):
            raise DataError("Schema must contain 'type' field")
        if kind not in _TYPES:
            raise DataError(f"Unknown schema type: {kind}")
        made = Schema(
            _TYPES[kind],
            optional=node.get("optional") is True,
            name=_of_type(str, node.get("name")),
            version=None if isinstance(node.get("version"), bool) else _of_type(int, node.get("version")),
            doc=_of_type(str, node.get("doc")),
            parameters=_parameters(node.get("parameters")),
            **self._parts(_TYPES[kind], node),
        )
        if "default" not in node:
            return made
        return replace(made, default=self._value(made, node["default"], ()))

    def _parts(self, kind: Type, node: Mapping[str, Any]) -> dict[str, Any]:
        if kind is Type.ARRAY:
            return {"value_schema": self._part(node, "items", "Array schema did not specify the element type")}
        if kind is Type.MAP:
            keys = self._part(node, "keys", "Map schema did not specify the key type")
            return {
                "key_schema": keys,
                "value_schema": self._part(node, "values", "Map schema did not specify the value type"),
            }
        return {"fields": tuple(self._fields(node.get("fields")))} if kind is Type.STRUCT else {}

    def _part(self, node: Mapping[str, Any], name: str, otherwise: str) -> Schema:
        if node.get(name) is None:
            raise DataError(otherwise)
        return self.schema(node[name])

    def _fields(self, nodes: Any) -> Iterator[Field]:
        if not isinstance(nodes, list):
            raise DataError('Struct schema\'s "fields" argument is not an array.')
        for node in nodes:
            name = node.get("field") if isinstance(node, dict) else None
            if not isinstance(name, str):
                raise DataError("Struct schema's field name not specified properly")
            yield Field(name, self.schema(node))

    def _value(self, schema: Schema, node: Any, path: _Path) -> Any:
        if node is None:
            return self._null(schema, path)
        try:
            logical = _LOGICAL.get((schema.type, schema.name))
            if logical is not None:
                return logical(schema, node)
            if schema.type is Type.BYTES:
                return _bytes(node, "Invalid bytes field")
        except DataError as why:
            raise _at(path, str(why)) from None
        if schema.type in (Type.FLOAT32, Type.FLOAT64):
            return _floating(schema.type, node)
        return node if schema.type.is_primitive else self._container(schema, node, path)

    def _null(self, schema: Schema, path: _Path) -> Any:
        if schema.default is not None and self.replace_null:
            return default_of(schema)
        if schema.optional:
            return None
        raise _at(path, f"Invalid null value for required {schema.type.name} field")

    def _container(self, schema: Schema, node: Any, path: _Path) -> Any:
        if schema.type is Type.STRUCT:
            _require(dict, node, path, "Structs should be encoded as JSON objects")
            return {one.name: self._value(one.schema, node.get(one.name), (*path, one.name)) for one in schema.fields}
        assert schema.value_schema is not None
        if schema.type is Type.ARRAY:
            _require(list, node, path, "Arrays should be encoded as JSON arrays")
            return [self._value(schema.value_schema, one, (*path, at)) for at, one in enumerate(node)]
        assert schema.key_schema is not None
        if schema.key_schema.type is Type.STRING:
            _require(dict, node, path, "Maps with string fields should be encoded as JSON objects")
            pairs = node.items()
        else:
            pairs = _pairs(node, path)
        return self._map(schema.key_schema, schema.value_schema, pairs, path)

    def _map(self, of_keys: Schema, of_values: Schema, pairs: Any, path: _Path) -> dict[Any, Any]:
        made = {}
        # By its place: a key is data, which errors do not show.
        for at, (key, one) in enumerate(pairs):
            read = self._value(of_keys, key, (*path, at))
            if not of_keys.type.is_primitive:
                raise _at(path, f"is a MAP whose keys are of type {of_keys.type.name}, which no dict can have")
            made[read] = self._value(of_values, one, (*path, at))
        return made


def _parameters(node: Any) -> dict[str, str]:
    if not isinstance(node, dict):
        return {}
    if not all(isinstance(one, str) for one in node.values()):
        raise DataError("Schema parameters must have string values.")
    return node


def _of_type(kind: type, node: Any) -> Any:
    return node if isinstance(node, kind) else None


def _pairs(node: Any, path: _Path) -> Iterator[Any]:
    _require(list, node, path, "Maps with non-string fields should be encoded as JSON array of tuples")
    for pair in node:
        if not isinstance(pair, list):
            raise _at(path, f"Found invalid map entry instead of array tuple: {_node_type(pair)}")
        if len(pair) != 2:
            raise _at(path, f"Found invalid map entry, expected length 2 but found :{len(pair)}")
        yield pair


def _require(kind: type, node: Any, path: _Path, rule: str) -> None:
    if not isinstance(node, kind):
        raise _at(path, f"{rule}, but found {_node_type(node)}")


def _at(path: _Path, why: str) -> DataError:
    return DataError(f"field {'.'.join(map(str, path))!r}: {why}" if path else why)


def _node_type(node: Any) -> str:
    """The type of a node, by Jackson's name."""
    kinds = {type(None): "NULL", bool: "BOOLEAN", str: "STRING", list: "ARRAY", dict: "OBJECT"}
    return kinds.get(type(node), "NUMBER")


def _inferred(node: Any, path: _Path) -> Any:
    if isinstance(node, Decimal):
        return float(node)
    if isinstance(node, int) and node not in LONG:
        raise _at(path, "is a number beyond the 64 bits of INT64")
    if isinstance(node, list):
        return [_inferred(one, (*path, at)) for at, one in enumerate(node)]
    if isinstance(node, dict):
        return {name: _inferred(one, (*path, name)) for name, one in node.items()}
    return node


def _floating(kind: Type, node: Any) -> Any:
    if isinstance(node, str):
        return float(node) if node in _NOT_FINITE else node
    if isinstance(node, bool) or not isinstance(node, (int, Decimal)):
        return node
    # A whole number may be beyond the range of floating-point numbers.
    return single(Decimal(node)) if kind is Type.FLOAT32 else float(Decimal(node))


def _bytes(node: Any, otherwise: str) -> bytes:
    try:
        if isinstance(node, str):
            return b64decode(node, validate=True)
    except ValueError:
        pass
    raise DataError(otherwise)


def _decimal(schema: Schema, node: Any) -> Decimal:
    if isinstance(node, (int, Decimal)) and not isinstance(node, bool):
        return Decimal(node)
    if isinstance(node, str):
        return decimal_of(_bytes(node, "Invalid bytes for Decimal field"), decimal_scale(schema))
    raise DataError(
        f"Invalid type for Decimal, underlying representation should be numeric or bytes but was {_node_type(node)}"
    )


def _moment(name: str, wanted: str, make: Callable[[int], Any]) -> Callable[[Schema, Any], Any]:
    def read(_: Schema, node: Any) -> Any:
        if isinstance(node, bool) or not isinstance(node, int):
            raise DataError(
                f"Invalid type for {name}, underlying representation should be {wanted} but was {_node_type(node)}"
            )
        return make(node)

    return read


def _time(number: int) -> Any:
    if 0 <= number <= MILLIS_PER_DAY:
        return time_of(number)
    raise DataError(f"Time values must use number of milliseconds greater than 0 and less than {MILLIS_PER_DAY}")


_LOGICAL: Mapping[tuple[Type, str | None], Callable[[Schema, Any], Any]] = {
    (Type.BYTES, DECIMAL_NAME): _decimal,
    (DATE.type, DATE.name): _moment("Date", "integer", lambda days: date_of(days * MILLIS_PER_DAY)),
    (TIME.type, TIME.name): _moment("Time", "integer", _time),
    (TIMESTAMP.type, TIMESTAMP.name): _moment("Timestamp", "integral", timestamp_of),
}
