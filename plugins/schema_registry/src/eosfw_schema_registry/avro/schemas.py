"""The Avro schemas of Kafka Connect's schemas, as Confluent's `AvroData` makes them.

A schema of Avro is the object that its JSON stands for, with each named type whole wherever it is used;
`schema_text` writes each of them once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from eosfw.data import (
    DATE,
    TIME,
    TIMESTAMP,
    Schema,
    Type,
    decimal_scale,
    default_of,
)
from eosfw.errors import DataError
from eosfw_schema_registry.avro.defaults import default_json, is_default
from eosfw_schema_registry.avro.form import (
    DECIMAL,
    DEFAULT_NAME,
    DEFAULT_PRECISION,
    ENUM_DEFAULT,
    ENUM_DOC,
    FIELD_DEFAULT,
    FIELD_DOC,
    KEY,
    MAP_ENTRY,
    NAMESPACE,
    PRECISION,
    RECORD_DOC,
    VALUE,
    AvroForm,
    fixed_size,
    is_union,
)
from eosfw_schema_registry.avro.names import field_name, split_name

Avro = Any
"""A dict with `type`, or the list of the members of a union."""
_PLAIN: Final = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL: Final = {DATE.name: "date", TIME.name: "time-millis", TIMESTAMP.name: "timestamp-millis", DECIMAL: "decimal"}
_NAMED: Final = ("record", "enum", "fixed")
_NULL: Final = {"type": "null"}


def avro_schema(form: AvroForm, schema: Schema) -> Avro:
    """The Avro schema of a schema; DataError for a name that Avro does not allow."""
    return _Translation(form).schema(schema)


class _Translation:
    """What is known while one schema is translated."""

    def __init__(self, form: AvroForm) -> None:
        self._form = form
        self._known: dict[Schema, Avro] = {}
        """A type that is used twice is the same type."""
        self._seen: set[str] = set()
        self._unnamed = 0

    def schema(self, schema: Schema, *, ignore_optional: bool = False) -> Avro:
        """The Avro schema, a union with null if the schema is optional and that is not to be ignored."""
        if not schema.optional and not is_union(schema) and schema in self._known:
            return self._known[schema]
        made = self._base(schema)
        if isinstance(made, dict):
            self._add_metadata(schema, made)
            if schema.optional and not ignore_optional:
                # Avro's own rule: the default of a union is of its first member.
                made = [_NULL, made] if schema.default is None else [made, _NULL]
        if not schema.optional:
            self._known[schema] = made
        return made

    def _base(self, schema: Schema) -> Avro:
        match schema.type:
            case Type.STRUCT:
                return self._union(schema) if is_union(schema) else self._struct(schema)
            case Type.ARRAY:
                return {"type": "array", "items": self.schema(_part(schema.value_schema))}
            case Type.MAP:
                return self._map(schema)
            case Type.BYTES:
                return self._bytes(schema)
            case Type.STRING if self._form.is_enum(schema):
                return self._enum(schema)
            case plain:
                return {"type": _PLAIN[plain]}

    def _union(self, schema: Schema) -> Avro:
        members = [self.schema(replace(one.schema, optional=False), ignore_optional=True) for one in schema.fields]
        return [_NULL, *members] if schema.optional else members

    def _struct(self, schema: Schema) -> Avro:
        if schema.optional:
            return [_NULL, self.schema(replace(schema, optional=False))]
        namespace, name = self._name(schema.name)
        made = _named("record", namespace, name, schema.parameters.get(RECORD_DOC))
        made["fields"] = [
            self._field(field_name(self._form, one.name), one.schema, schema.parameters.get(f"{FIELD_DOC}{one.name}"))
            for one in schema.fields
        ]
        return made

    def _map(self, schema: Schema) -> Avro:
        if self._form.is_avro_map(schema):
            return {"type": "map", "values": self.schema(_part(schema.value_schema))}
        namespace, name = (NAMESPACE, MAP_ENTRY) if schema.name is None else self._name(schema.name)
        entry = _named("record", namespace, name, None)
        entry["fields"] = [
            self._field(KEY, _part(schema.key_schema), None),
            self._field(VALUE, _part(schema.value_schema), None),
        ]
        return {"type": "array", "items": entry if schema.name is None else entry | {_INTERNAL_TYPE: MAP_ENTRY}}

    def _bytes(self, schema: Schema) -> Avro:
        size = fixed_size(schema)
        made: dict[str, Any] = {"type": "bytes"}
        if size is not None:
            made = _named("fixed", *self._name(schema.name), None) | {"size": size}
        if schema.name == DECIMAL:
            made["scale"] = decimal_scale(schema)
            made["precision"] = int(schema.parameters.get(PRECISION, DEFAULT_PRECISION))
            _check_digits(size, made)
        return made

    def _enum(self, schema: Schema) -> Avro:
        _, short = self._name(schema.name)
        full = schema.parameters.get(self._form.enum_parameter)
        if full is None:
            raise DataError(f"the schema of an enum has no parameter {self._form.enum_parameter}")
        namespace, _, name = full.rpartition(".")
        made = _named("enum", namespace or None, name, schema.parameters.get(f"{ENUM_DOC}{short}"))
        made["symbols"] = self._form.symbols(schema)
        default = schema.parameters.get(f"{ENUM_DEFAULT}{short}")
        return made if default is None else made | {"default": default}

    def _field(self, name: str, schema: Schema, doc: str | None) -> dict[str, Any]:
        known = schema.name is not None and schema.name in self._seen
        if schema.name is not None:
            self._seen.add(schema.name)
        made: dict[str, Any] = {"name": name, "type": self.schema(schema)}
        if doc is not None:
            made["doc"] = doc
        if schema.default is not None:
            default = default_json(self._form, schema, default_of(schema))
            # Confluent's leaves out what is no default for Avro: maps whose keys are no texts.
            made |= {"default": default} if is_default(made["type"], default) else {}
        elif schema.optional:
            made["default"] = None
        if known and self._form.metadata and _has_name(made["type"]):
            # A type that is used again is a mere name, which leaves no place for its parameters.
            made |= _parameters(schema)
        return made

    def _name(self, full: str | None) -> tuple[str | None, str]:
        if full is None:
            self._unnamed += 1
            return NAMESPACE, DEFAULT_NAME if self._unnamed == 1 else f"{DEFAULT_NAME}{self._unnamed}"
        return split_name(self._form, full)

    def _add_metadata(self, schema: Schema, made: dict[str, Any]) -> None:
        """Add what Avro has no words for, in Confluent's order."""
        if self._form.metadata:
            given = {"connect.doc": schema.doc, "connect.version": schema.version, **_parameters(schema)}
            if schema.default is not None and FIELD_DEFAULT not in schema.parameters:
                given["connect.default"] = default_json(self._form, schema, default_of(schema))
            given["connect.name"] = schema.name
            given["connect.type"] = schema.type.value if schema.type in (Type.INT8, Type.INT16) else None
            made |= {name: one for name, one in given.items() if one is not None}
        if schema.name in _LOGICAL:
            made["logicalType"] = _LOGICAL[schema.name]
        made |= {name: text for name, text in schema.parameters.items() if name.startswith("avro")}


_INTERNAL_TYPE: Final = "connect.internal.type"


def _named(kind: str, namespace: str | None, name: str, doc: str | None) -> dict[str, Any]:
    made = {"type": kind, "name": name, "namespace": namespace}
    return made if doc is None else made | {"doc": doc}


def _parameters(schema: Schema) -> dict[str, Any]:
    shown = {name: text for name, text in schema.parameters.items() if name != FIELD_DEFAULT}
    return {"connect.parameters": shown} if shown else {}


def _check_digits(size: int | None, made: Mapping[str, Any]) -> None:
    if size is None:
        return
    most = len(str(2 ** (8 * size - 1) - 1)) - 1
    if made["precision"] > most:
        raise DataError(f"fixed({size}) cannot store {made['precision']} digits (max {most})")


def _part(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataError("an ARRAY or MAP has the schemas of its parts")
    return schema


def _has_name(avro: Avro) -> bool:
    members = avro if isinstance(avro, list) else [avro]
    return any(one["type"] in _NAMED for one in members)
