"""The converter to Avro."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from eosfw.config import Config
from eosfw.data import Schema
from eosfw.errors import DataError
from eosfw_schema_registry.avro.encoding import Encoder, encoder, parsed_schema, resolving_encoder
from eosfw_schema_registry.avro.form import AVRO_DATA, AvroForm
from eosfw_schema_registry.avro.given_schema import GIVEN_SCHEMA, given_schema
from eosfw_schema_registry.avro.schemas import avro_schema, record_name, schema_text
from eosfw_schema_registry.avro.values import value_encoder
from eosfw_schema_registry.properties import REGISTRY
from eosfw_schema_registry.registry import RegistrySchema, SchemaRegistry, wrong
from eosfw_schema_registry.subject_names import subject_name
from eosfw_schema_registry.wire_format import head


class AvroConverter:
    """Writes Avro as Confluent's `AvroConverter` does, with the schema in a schema registry.

    The schema is that of the record; `schema`, `schema.file` or the registry's latest is for records that have none.
    """

    name: ClassVar[str] = "avro"
    aliases: ClassVar = ("io.confluent.connect.avro.AvroConverter", "AvroConverter")
    config: ClassVar = REGISTRY + AVRO_DATA + GIVEN_SCHEMA

    def configure(self, config: Config) -> None:
        self._part = config["converter.type"]
        if self._part == "header":
            raise wrong("header.converter cannot be avro: choose json, string or bytes")
        try:
            import fastavro  # noqa: F401
        except ImportError as why:
            needs = f"Avro needs more packages ({why.name} is missing)"
            raise wrong(f"{needs}. Try: pip install 'eosfw-schema-registry[avro]'") from None
        self._given = given_schema(config)
        self._use_latest = config["use.latest.version"]
        self._strategy = config[f"{self._part}.subject.name.strategy"]
        self._form = AvroForm.of(config)
        self._most = config["schemas.cache.config"]
        self._encoders: dict[tuple[str, Schema | None], Encoder] = {}
        self._registry = SchemaRegistry(config)

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        encode = self._encoders.get((topic, schema))
        return (self._kept_encoder(topic, schema) if encode is None else encode)(value)

    def _kept_encoder(self, topic: str, schema: Schema | None) -> Encoder:
        made = self._encoder(topic, schema)
        if len(self._encoders) >= self._most:
            del self._encoders[next(iter(self._encoders))]
        self._encoders[topic, schema] = made
        return made

    def _encoder(self, topic: str, schema: Schema | None) -> Encoder:
        number, encode = self._by_given(topic) if schema is None else self._by_own(topic, schema)
        start = head(number)
        return lambda value: start + encode(value)

    def _by_own(self, topic: str, schema: Schema) -> tuple[int, Encoder]:
        """The id of the schema of records, and what writes their values."""
        avro = avro_schema(self._form, schema)
        text, encode = schema_text(avro), value_encoder(self._form, schema)
        subject = self._subject(topic, avro)
        if not self._use_latest:
            return self._registry.registered_id(subject, RegistrySchema(text)), encode
        number, latest = self._registry.latest(subject)
        if json.loads(latest.text) == json.loads(text):
            return number, encode
        return number, resolving_encoder(parsed_schema([text]), encode, parsed_schema(self._registry.texts(latest)))

    def _by_given(self, topic: str) -> tuple[int, Encoder]:
        """The same for records without a schema."""
        if self._given is not None:
            subject = self._subject(topic, json.loads(self._given))
            number = self._registry.registered_id(subject, RegistrySchema(self._given))
            return number, encoder(parsed_schema([self._given]))
        if not self._use_latest:
            raise DataError("the record has no schema: say schema, schema.file or use.latest.version=true")
        number, latest = self._registry.latest(self._subject(topic, None))
        return number, encoder(parsed_schema(self._registry.texts(latest)))

    def _subject(self, topic: str, avro: Any) -> str:
        return subject_name(self._strategy, topic, self._part, record_name(avro))

    def close(self) -> None:
        """Close the connections to the registry."""
        self._registry.close()
