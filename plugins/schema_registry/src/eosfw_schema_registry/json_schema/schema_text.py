"""JSON Schemas of schemas of Kafka Connect, in draft 7."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from eosfw.builtin.converters import JsonForm, encoder_of
from eosfw.data import (
    Schema,
    Type,
    default_of,
)
from eosfw_schema_registry.json_schema.names import (
    CONNECT_INDEX,
    CONNECT_PARAMETERS,
    CONNECT_TYPE,
    CONNECT_VERSION,
    DECIMAL_NAME,
    ENUM,
    KEY,
    NAMESPACE,
    NULL,
    VALUE,
    has_names_for_keys,
    is_union,
    part_of,
)

_KINDS: Final = {
    Type.INT8: "integer",
    Type.INT16: "integer",
    Type.INT32: "integer",
    Type.INT64: "integer",
    Type.FLOAT32: "number",
    Type.FLOAT64: "number",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "string",
}
_PLAIN: Final = (Type.BOOLEAN, Type.STRING)
"""Types that JSON Schema names as well as Kafka Connect does."""


@dataclass(frozen=True, slots=True)
class JsonSchemaRules:
    """What the properties of the converter change of the JSON Schemas that it writes."""

    form: JsonForm
    additional_properties: bool = True
    """Whether objects may have members that their schema does not name (`object.additional.properties`)."""


@lru_cache(maxsize=1000)
def json_schema_text(rules: JsonSchemaRules, schema: Schema) -> str:
    """The JSON Schema of values of a schema."""
    return _text(rules, schema, None)


def _text(rules: JsonSchemaRules, schema: Schema, index: int | None, *, nullable: bool = True) -> str:
    """`index` is the place of a field; `nullable` says whether null is part of it if the schema is optional."""
    place = [] if index is None else [f'"{CONNECT_INDEX}":{index}']
    if is_union(schema):
        choices = ['{"type":"null"}'] if schema.optional else []
        choices += [_text(rules, one.schema, at, nullable=False) for at, one in enumerate(schema.fields)]
        return _object([_member("oneOf", f"[{','.join(choices)}]"), *place])
    if schema.optional and nullable:
        # The place stands outside, beside the null.
        inner = _object(_parts(rules, schema))
        return _object([_member("oneOf", f'[{{"type":"null"}},{inner}]'), *place])
    return _object([*_parts(rules, schema), *place])


def _parts(rules: JsonSchemaRules, schema: Schema) -> Iterator[str]:
    if schema.name is not None:
        yield _member("title", json.dumps(schema.name))
    if schema.doc is not None:
        yield _member("description", json.dumps(schema.doc))
    if schema.default is not None:
        required = replace(schema, optional=False, default=None)
        yield _member("default", encoder_of(rules.form, required)(default_of(schema)))
    yield from _type_parts(rules, schema)
    if (name := _connect_type(schema)) is not None:
        yield _member(CONNECT_TYPE, json.dumps(name))
    if schema.version is not None:
        yield _member(CONNECT_VERSION, str(schema.version))
    parameters = {name: text for name, text in schema.parameters.items() if not name.startswith(NAMESPACE)}
    if parameters:
        yield _member(CONNECT_PARAMETERS, json.dumps(parameters, separators=(",", ":")))


def _connect_type(schema: Schema) -> str | None:
    if schema.type is Type.MAP or (schema.type.is_primitive and schema.type not in _PLAIN):
        return str(schema.type.value)
    return None


def _type_parts(rules: JsonSchemaRules, schema: Schema) -> Iterator[str]:
    if schema.type is Type.STRING and ENUM in schema.parameters:
        yield _member("enum", json.dumps(_symbols(schema), separators=(",", ":")))
    elif schema.type.is_primitive:
        numeric = schema.name == DECIMAL_NAME and schema.type is Type.BYTES and rules.form.numeric_decimals
        yield _member("type", '"number"' if numeric else f'"{_KINDS[schema.type]}"')
    elif schema.type is Type.STRUCT:
        yield from _object_parts(rules, schema)
    elif schema.type is Type.ARRAY:
        yield _member("type", '"array"')
        yield _member("items", _text(rules, part_of(schema.value_schema), None))
    elif has_names_for_keys(schema):
        yield _member("type", '"object"')
        yield _member("additionalProperties", _text(rules, part_of(schema.value_schema), None))
    else:
        key, value = _text(rules, part_of(schema.key_schema), 0), _text(rules, part_of(schema.value_schema), 1)
        entry = _object([_member(KEY, key), _member(VALUE, value)])
        yield _member("type", '"array"')
        yield _member("items", _object([_member("type", '"object"'), _member("properties", entry)]))


def _object_parts(rules: JsonSchemaRules, schema: Schema) -> Iterator[str]:
    yield _member("type", '"object"')
    if schema.fields:
        fields = [_member(one.name, _text(rules, one.schema, at)) for at, one in enumerate(schema.fields)]
        yield _member("properties", _object(fields))
    if not rules.additional_properties:
        yield _member("additionalProperties", "false")


def _symbols(schema: Schema) -> list[str | None]:
    names = [name.removeprefix(f"{ENUM}.") for name in schema.parameters if name.startswith(f"{ENUM}.")]
    return [None if name == NULL else name for name in names]


def _member(name: str, value: str) -> str:
    return f"{json.dumps(name)}:{value}"


def _object(members: Iterator[str] | list[str]) -> str:
    return f"{{{','.join(members)}}}"
