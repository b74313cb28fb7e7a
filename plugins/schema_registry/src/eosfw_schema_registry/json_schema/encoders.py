"""What JSON with a JSON Schema writes in another way than JsonConverter does."""

from __future__ import annotations

import json
from typing import Any

from eosfw.builtin.converters import Encoder, JsonForm, encoder_of
from eosfw.data import Schema, Type, default_of
from eosfw.errors import DataError
from eosfw_schema_registry.json_schema.names import KEY, VALUE, has_names_for_keys, is_union, part_of


def json_form(*, numeric_decimals: bool, ignore_default: bool) -> JsonForm:
    """How values are written, by the properties `decimal.format` and `ignore.default.for.nullables`."""
    return JsonForm(False, numeric_decimals, not ignore_default, special_encoder)


def special_encoder(form: JsonForm, schema: Schema) -> Encoder | None:
    """The encoder of a schema with rules of its own; None if JsonConverter's do."""
    if is_left_out(form, schema):
        return encoder_of(form, schema.as_optional())
    if schema.type is Type.MAP and not has_names_for_keys(schema):
        return _default_or(form, schema, _entries(form, schema))
    if is_union(schema):
        return _default_or(form, schema, _union(form, schema))
    if schema.type is Type.STRUCT and any(is_left_out(form, one.schema) for one in schema.fields):
        return _default_or(form, schema, _struct(form, schema))
    return None


def is_left_out(form: JsonForm, schema: Schema) -> bool:
    """Whether an object has no member for a null: it may not be null, and its default is not to be written."""
    return not schema.optional and schema.default is not None and not form.replace_null


def _default_or(form: JsonForm, schema: Schema, encode: Encoder) -> Encoder:
    null = "null" if schema.optional else None
    if schema.default is not None and form.replace_null:
        null = encode(default_of(schema))

    def encode_or_null(value: Any) -> str:
        if value is not None:
            return encode(value)
        if null is None:
            raise DataError("a null has no default, and its schema is not optional")
        return null

    return encode_or_null


def _entries(form: JsonForm, schema: Schema) -> Encoder:
    key, item = encoder_of(form, part_of(schema.key_schema)), encoder_of(form, part_of(schema.value_schema))
    entry = f'{{{{"{KEY}":{{}},"{VALUE}":{{}}}}}}'.format
    return lambda value: f"[{','.join(entry(key(one), item(each)) for one, each in value.items())}]"


def _union(form: JsonForm, schema: Schema) -> Encoder:
    fields = [(one.name, encoder_of(form, one.schema), one.schema) for one in schema.fields]
    null = "null" if schema.optional else None

    def encode(value: Any) -> str:
        for name, encode_field, field_schema in fields:
            if value[name] is not None or (field_schema.default is not None and form.replace_null):
                return encode_field(value[name])
        if null is None:
            raise DataError("all fields of a union are null, and it is not optional")
        return null

    return encode


def _struct(form: JsonForm, schema: Schema) -> Encoder:
    fields = [
        (f"{json.dumps(one.name, ensure_ascii=False)}:", one.name, encoder_of(form, one.schema),
         is_left_out(form, one.schema))
        for one in schema.fields
    ]  # fmt: skip
    return lambda value: (
        "{"
        + ",".join(
            head + encode(value[name]) for head, name, encode, left_out in fields
            if not (left_out and value[name] is None)
        )
        + "}"
    )  # fmt: skip
