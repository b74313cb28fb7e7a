"""The converter to Avro."""

from __future__ import annotations

from typing import Any, ClassVar

from eosfw.config import Config
from eosfw.data import Schema
from eosfw.errors import DataError
from eosfw_schema_registry.avro.encoding import Encoder, encoder
from eosfw_schema_registry.avro.given_schema import GIVEN_SCHEMA, given_schema
from eosfw_schema_registry.properties import REGISTRY
from eosfw_schema_registry.registry import RegistrySchema, SchemaRegistry, wrong
from eosfw_schema_registry.subject_names import subject_name
from eosfw_schema_registry.wire_format import head


class AvroConverter:
    """Writes Avro as Confluent's `AvroConverter` does, with the schema in a schema registry."""

    name: ClassVar[str] = "avro"
    aliases: ClassVar = ("io.confluent.connect.avro.AvroConverter", "AvroConverter")
    config: ClassVar = REGISTRY + GIVEN_SCHEMA

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
        if self._given is not None:
            try:
                encoder(self._given, b"")
            except DataError as why:
                raise wrong(f"the property schema or schema.file: {why}") from None
        self._use_latest = config["use.latest.version"]
        self._strategy = config[f"{self._part}.subject.name.strategy"]
        self._registry = SchemaRegistry(config)
        self._encoders: dict[str, Encoder] = {}

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None and schema is None:
            return None
        if topic not in self._encoders:
            self._encoders[topic] = self._encoder(topic)
        return self._encoders[topic](value)

    def _encoder(self, topic: str) -> Encoder:
        if self._use_latest:
            number, latest = self._registry.latest(subject_name(self._strategy, topic, self._part, None))
            return encoder(latest.text, head(number))
        if self._given is None:
            raise DataError("the record has no schema: say schema, schema.file or use.latest.version=true")
        subject = subject_name(self._strategy, topic, self._part, None)
        return encoder(self._given, head(self._registry.registered_id(subject, RegistrySchema(self._given))))

    def close(self) -> None:
        """Close the connections to the registry."""
        self._registry.close()
