"""The schemas of Kafka Connect for Avro's schemas, as Confluent's `AvroData` makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from eosfw.data import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Field,
    Schema,
    Type,
    array,
    decimal,
    fitted,
    map_of,
    struct,
)
from eosfw.errors import DataError
from eosfw_schema_registry.avro.form import (
    DECIMAL,
    DEFAULT_NAME,
    DEFAULT_PRECISION,
    ENUM_DEFAULT,
    ENUM_DOC,
    FIELD_DEFAULT,
    FIELD_DOC,
    FIXED_SIZE,
    GENERAL_UNION,
    KEY,
    MAP_ENTRY,
    NAMESPACE,
    PRECISION,
    RECORD_DOC,
    UNION,
    VALUE,
    AvroForm,
    is_union,
)
from eosfw_schema_registry.avro.logical_values import logical_reader

_NULL: Final = {"type": "null"}
_SIMPLE: Final = {
    "boolean": BOOLEAN,
    "long": INT64,
    "float": FLOAT32,
    "double": FLOAT64,
    "string": STRING,
}
_INTS: Final = {"int8": INT8, "int16": INT16}
_MOMENTS: Final[Mapping[tuple[str, str | None], Schema]] = {
    ("int", "date"): DATE,
    ("int", "time-millis"): TIME,
    ("long", "timestamp-millis"): TIMESTAMP,
}
_ABSENT: Final = object()


def connect_schema(form: AvroForm, node: Any) -> Schema:
    """The schema of what a resolved Avro schema describes; DataError for what has no counterpart."""
    return _Translation(form).schema(node)


def is_entry(node: Any) -> bool:
    """Whether records of this type are the entries of a map whose keys are no texts."""
    if isinstance(node, list) or node["type"] != "record":
        return False
    return bool(node["name"] == f"{NAMESPACE}.{MAP_ENTRY}" or node.get("connect.internal.type") == MAP_ENTRY)


def member_names(form: AvroForm, union: list[Any]) -> list[str | None]:
    """The fields of the struct that stands for a union; None for its null."""
    return [None if one == _NULL else _member_name(form, one, at) for at, one in enumerate(union)]


def sole_member(form: AvroForm, union: list[Any]) -> Any:
    """The type of a union that is only an optional one, or that is flat; None if a struct stands for it."""
    if len(union) == 1 and form.flatten:
        return union[0]
    if len(union) == 2 and _NULL in union:
        return next((one for one in union if one != _NULL), None)
    return None


def _member_name(form: AvroForm, node: Any, at: int) -> str:
    if form.generalized:
        return f"connect_union_field_{at}"
    if node["type"] in ("record", "enum", "fixed"):
        return str(node["name"]) if form.enhanced else str(node["name"]).rpartition(".")[2]
    return str(node["type"])


class _Translation:
    """What is known while one schema is translated."""

    def __init__(self, form: AvroForm) -> None:
        self._form = form
        self._unions = 0
        self._makers: Mapping[str, Callable[[Mapping[str, Any]], Schema]] = {
            "int": _int,
            "bytes": _bytes,
            "fixed": _bytes,
            "array": self._array,
            "map": self._map,
            "record": self._record,
            "enum": self._enum,
        }
        self._open: list[int] = []
        """The records around the part that is translated: one that holds itself has no schema here."""

    def schema(self, node: Any, *, optional: bool = False, default: Any = _ABSENT) -> Schema:
        """The schema of a node, with the default of its field."""
        if not isinstance(node, list):
            return self._finished(self._base(node), node, optional, default)
        sole = sole_member(self._form, node)
        if sole is not None:
            return self.schema(sole, optional=len(node) == 2)
        return self._finished(self._union(node), {}, optional, default)

    def _base(self, node: Mapping[str, Any]) -> Schema:
        kind = node["type"]
        simple = _MOMENTS.get((kind, node.get("logicalType")), _SIMPLE.get(kind))
        if simple is not None:
            return simple
        if kind in self._makers:
            return self._makers[kind](node)
        if kind == "null":
            raise DataError("Standalone null schemas are not supported by this converter")
        raise DataError(f"Couldn't translate unsupported schema type {kind}.")

    def _map(self, node: Mapping[str, Any]) -> Schema:
        return map_of(STRING, self.schema(node["values"]))

    def _array(self, node: Mapping[str, Any]) -> Schema:
        items = node["items"]
        if not is_entry(items):
            return array(self.schema(items))
        parts = {one["name"]: one["type"] for one in items["fields"]}
        if parts.keys() != {KEY, VALUE}:
            raise DataError("Found map encoded as array of key-value pairs, but its elements are of another format")
        return map_of(self.schema(parts[KEY]), self.schema(parts[VALUE]))

    def _record(self, node: Mapping[str, Any]) -> Schema:
        if id(node) in self._open:
            raise DataError(f"the Avro type {node['name']} holds itself, which no schema of eosfw does")
        self._open.append(id(node))
        fields, parameters = [], {}
        if self._form.metadata and node.get("doc") is not None:
            parameters[RECORD_DOC] = node["doc"]
        for one in node["fields"]:
            if self._form.metadata and one.get("doc") is not None:
                parameters[f"{FIELD_DOC}{one['name']}"] = one["doc"]
            schema = self.schema(one["type"], default=one.get("default", _ABSENT))
            own = one.get("connect.parameters") if self._form.metadata else None
            fields.append(Field(one["name"], _with_parameters(schema, own or {})))
        self._open.pop()
        return replace(struct(fields), parameters=parameters)

    def _enum(self, node: Mapping[str, Any]) -> Schema:
        made, short = {}, node["name"].rpartition(".")[2]
        if self._form.metadata and node.get("doc") is not None:
            made[f"{ENUM_DOC}{short}"] = node["doc"]
        if self._form.metadata and node.get("default") is not None:
            made[f"{ENUM_DEFAULT}{short}"] = node["default"]
        name = self._form.enum_parameter
        made[name] = node["name"]
        for at, symbol in enumerate(node["symbols"]):
            made[f"{name}.{symbol}"] = str(at) if self._form.generalized else symbol
        return replace(STRING, parameters=made)

    def _union(self, union: list[Any]) -> Schema:
        name = f"connect_union_{self._unions}" if self._form.generalized else UNION
        self._unions += 1
        names = member_names(self._form, union)
        fields = [
            Field(of, self.schema(one, optional=True)) for of, one in zip(names, union, strict=True) if of is not None
        ]
        parameters = {GENERAL_UNION: name} if self._form.generalized else {}
        return replace(struct(fields, name), parameters=parameters, optional=_NULL in union)

    def _finished(self, made: Schema, node: Mapping[str, Any], optional: bool, default: Any) -> Schema:  # noqa: FBT001 internal
        """The schema with what is beside the type: names, versions, parameters, the default."""
        form, parameters = self._form, dict(made.parameters)
        if form.metadata:
            parameters |= node.get("connect.parameters") or {}
        parameters |= {name: _text(one) for name, one in node.items() if name.startswith("avro")}
        if form.metadata and default is not _ABSENT and "connect.default" not in node:
            parameters[FIELD_DEFAULT] = "true"
        made = replace(
            made,
            parameters=parameters,
            doc=node.get("connect.doc") if form.metadata else None,
            version=_agreed("versions", made.version, node.get("connect.version")),
            name=_agreed("names", made.name, _name(made, node)),
        )
        given = node.get("connect.default") if default is _ABSENT else default
        return replace(made, default=self._default(made, node, given), optional=optional or made.optional)

    def _default(self, schema: Schema, node: Mapping[str, Any], given: Any) -> Any:
        """A default of JSON as a value; None, as in Java, if it does not fit the type."""
        try:
            value = _value(schema, given)
            return None if value is None else fitted(replace(schema, default=None, optional=False), value)
        except (AttributeError, KeyError, TypeError, ValueError):
            return None


def _int(node: Mapping[str, Any]) -> Schema:
    kind = node.get("connect.type")
    if kind is None or node.get("logicalType") is not None:
        return INT32
    if kind not in _INTS:
        raise DataError("Connect type annotation for Avro int field is null")
    return _INTS[kind]


def _bytes(node: Mapping[str, Any]) -> Schema:
    made, parameters = BYTES, {}
    if node.get("logicalType") == "decimal":
        made = decimal(int(node.get("scale", 0)))
        if node.get("precision", DEFAULT_PRECISION) != DEFAULT_PRECISION:
            parameters[PRECISION] = str(node["precision"])
    if node["type"] == "fixed":
        parameters[FIXED_SIZE] = str(node["size"])
    return replace(made, parameters={**made.parameters, **parameters})


def _name(made: Schema, node: Mapping[str, Any]) -> str | None:
    name = node.get("connect.name")
    if name is None and node.get("type") in ("record", "enum", "fixed") and made.name != DECIMAL:
        name = node["name"]
    return None if name is None or name.startswith(f"{NAMESPACE}.{DEFAULT_NAME}") else str(name)


def _agreed(what: str, own: Any, given: Any) -> Any:
    if own is not None and given is not None and own != given:
        raise DataError(f"Mismatched {what}: that of its type is {own}, that of its schema {given}")
    return own if given is None else given


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _with_parameters(schema: Schema, parameters: Mapping[str, str]) -> Schema:
    return replace(schema, parameters={**schema.parameters, **parameters}) if parameters else schema


def _value(schema: Schema, given: Any) -> Any:
    """A default of JSON as a value; any of several exceptions if it does not fit."""
    if given is None:
        return None
    if schema.type is Type.STRUCT:
        if is_union(schema):
            first = schema.fields[0]
            return {first.name: _value(first.schema, given)}
        return {one.name: _value(one.schema, given.get(one.name, one.schema.default)) for one in schema.fields}
    if schema.type is Type.ARRAY and schema.value_schema is not None:
        return [_value(schema.value_schema, one) for one in given]
    if schema.type is Type.MAP and schema.key_schema is not None and schema.value_schema is not None:
        pairs = given.items() if isinstance(given, dict) else given
        return {_value(schema.key_schema, key): _value(schema.value_schema, one) for key, one in pairs}
    raw = given.encode("latin-1") if schema.type is Type.BYTES else given
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        raw = float(given)
    read = logical_reader(schema)
    return raw if read is None else read(raw)
