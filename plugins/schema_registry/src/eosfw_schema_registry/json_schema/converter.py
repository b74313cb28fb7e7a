"""The converter to JSON with its JSON Schema in a schema registry."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

from eosfw.builtin.converters import encoded_columns, encoder_of
from eosfw.config import Boolean, Choice, Config, ConfigDef
from eosfw.data import Schema, SchemaAndValue, StructColumns, Type
from eosfw.errors import DataError
from eosfw_schema_registry.json_schema.connect_schema import connect_schema
from eosfw_schema_registry.json_schema.encoders import json_form
from eosfw_schema_registry.json_schema.schema_text import JsonSchemaRules, json_schema_text
from eosfw_schema_registry.json_schema.values import connect_value, parse_json
from eosfw_schema_registry.record_schemas import RECORD_SCHEMAS, Kept, RecordSchemas
from eosfw_schema_registry.registry import RegistrySchema

_KIND = "JSON"
JSON_SCHEMA: Final = ConfigDef(
    Boolean("object.additional.properties", True, "let objects have members that their schema does not name"),
    Boolean("use.optional.for.nonrequired", False, "read members that are not required as optional"),
    Choice(
        "decimal.format",
        "BASE64",
        "how a Decimal is written: the bytes of its unscaled number, or a number",
        among=("BASE64", "NUMERIC"),
    ),
)
"""The properties that other formats have not."""


class JsonSchemaConverter:
    """Writes JSON as Confluent's `JsonSchemaConverter` does; the record's schema is registered as JSON Schema."""

    name: ClassVar[str] = "json-schema"
    aliases: ClassVar = ("io.confluent.connect.json.JsonSchemaConverter", "JsonSchemaConverter")
    config: ClassVar = RECORD_SCHEMAS + JSON_SCHEMA

    def configure(self, config: Config) -> None:
        self._schemas = RecordSchemas(config, _KIND, self.name)
        self._form = json_form(
            numeric_decimals=config["decimal.format"] == "NUMERIC",
            ignore_default=config["ignore.default.for.nullables"],
        )
        self._rules = JsonSchemaRules(self._form, config["object.additional.properties"])
        self._connect_schema = partial(
            connect_schema, optional_unless_required=config["use.optional.for.nonrequired"]
        )  # fmt: skip
        most = config["schemas.cache.config"]
        self._heads: Kept[tuple[str, Schema], bytes] = Kept(most)
        self._read: Kept[int, Schema] = Kept(most)

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if schema is None:
            if value is None:
                return None
            raise DataError("the record has no schema: json-schema needs one. Choose json for records without")
        if value is None and not schema.optional and (schema.default is None or not self._form.replace_null):
            return None
        return self._head(topic, schema) + encoder_of(self._form, schema)(value).encode()

    def from_connect_columns(self, topic: str, schema: Schema | None, values: Sequence[Any]) -> Sequence[bytes | None]:
        if schema is None or not isinstance(values, StructColumns):
            return [self.from_connect_data(topic, schema, one) for one in values]
        head = self._head(topic, schema)
        return [head + one for one in encoded_columns(self._form, schema, values) if one is not None]

    def _head(self, topic: str, schema: Schema) -> bytes:
        found = self._heads.get((topic, schema))
        if found is None:
            name = schema.name if schema.type is Type.STRUCT else None
            text = RegistrySchema(json_schema_text(self._rules, schema), _KIND)
            found = self._heads.keep((topic, schema), self._schemas.head(topic, name, text))
        return found

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """The schema and the value that these bytes are; DataError, without the bytes, if they are none.

        RetriableError if the registry does not answer.
        """
        if data is None:
            return SchemaAndValue(None, None)
        number, stored, rest = self._schemas.stored(data)
        schema = self._read.get(number)
        if schema is None:
            schema = self._read.keep(number, self._connect_schema(stored.text, self._schemas.referred(stored)))
        return SchemaAndValue(schema, connect_value(schema, parse_json(rest)))

    def close(self) -> None:
        """Close the connections to the registry."""
        self._schemas.close()
