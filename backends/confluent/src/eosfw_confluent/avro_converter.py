"""The converter to Avro, with schemas in a schema registry."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from eosfw.config import Boolean, Choice, Config, ConfigDef, Int, Long, Password, String
from eosfw.data import Schema
from eosfw.errors import ConfigError, Problem, RetriableError, with_class

_BUSY = (408, 429)
"""Answers beside those from 500 on after which a request may be repeated."""
_LONGEST = 200
"""Characters that are shown of an error: it may hold the value."""


class AvroConverter:
    """Writes Avro as Confluent's `AvroConverter` does, by confluent-kafka's serializer; `eosfw-confluent[avro]` has it.

    The schema is given as a property or a file, or is the registry's latest, since data of Python carries none.
    """

    name: ClassVar[str] = "avro"
    aliases: ClassVar = ("io.confluent.connect.avro.AvroConverter", "AvroConverter")
    config: ClassVar = ConfigDef(
        String("schema.registry.url", doc="URL of the schema registry; several separated by commas"),
        String("schema", None, "the schema, as JSON"),
        String("schema.file", None, "a file with the schema, on each machine of the worker group"),
        Boolean("auto.register.schemas", True, "register the schema when the first record is written"),
        Boolean("use.latest.version", False, "write by the registry's latest schema of the subject, whatever it is"),
        Boolean("normalize.schemas", False, "register and look for the schema in its normal form"),
        Choice(
            "basic.auth.credentials.source",
            "URL",
            "where name and password for the registry are: in its URL, or in basic.auth.user.info",
            among=("URL", "USER_INFO"),
        ),
        Password("basic.auth.user.info", None, "NAME:PASSWORD for the registry, with USER_INFO"),
        Long("request.timeout.ms", 10_000, "how long the registry may take to answer", at_least=1),
        Int("max.retries", 3, "how often a request is repeated at once, before `errors.retry.timeout`", at_least=0),
        Choice("converter.type", "value", "set by the framework", among=("key", "value", "header")),
    )

    def configure(self, config: Config) -> None:
        if config["converter.type"] == "header":
            raise _wrong("header.converter cannot be avro: choose json, string or bytes")
        schema = _schema(config)
        try:
            from confluent_kafka.schema_registry import SchemaRegistryClient
            from confluent_kafka.schema_registry.avro import AvroSerializer
            from confluent_kafka.serialization import MessageField, SerializationContext
        except ImportError as why:
            raise _wrong(f"Avro needs more packages ({why}). Try: pip install 'eosfw-confluent[avro]'") from None
        field = MessageField.KEY if config["converter.type"] == "key" else MessageField.VALUE
        self._context: Callable[[str], Any] = lambda topic: SerializationContext(topic, field)
        try:
            self._client = SchemaRegistryClient(_client_properties(config))
            self._serialize = AvroSerializer(self._client, schema, conf=_serializer_properties(config))
        except Exception as why:  # noqa: BLE001 the serializer and its libraries raise many
            raise _wrong(f"Avro cannot be written with these properties: {with_class(why)}") from None

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        with _named_errors():
            made: bytes | None = self._serialize(value, self._context(topic))
        return made

    def close(self) -> None:
        """Close the connections to the registry."""
        self._client.close()


def _client_properties(config: Config) -> dict[str, Any]:
    given: dict[str, Any] = {
        "url": config["schema.registry.url"],
        "timeout": config["request.timeout.ms"] / 1000,
        "max.retries": config["max.retries"],
    }
    if config["basic.auth.credentials.source"] == "USER_INFO":
        given["basic.auth.user.info"] = config["basic.auth.user.info"]
    return given


def _serializer_properties(config: Config) -> dict[str, Any]:
    latest = config["use.latest.version"]
    return {
        "use.latest.version": latest,
        "normalize.schemas": config["normalize.schemas"],
        "auto.register.schemas": config["auto.register.schemas"] and not latest,  # it is used as it is
    }


def _schema(config: Config) -> str | None:
    text, file = config["schema"], config["schema.file"]
    if (text is not None) + (file is not None) + config["use.latest.version"] != 1:
        raise _wrong("Avro needs one of schema, schema.file and use.latest.version=true")
    if file is not None:
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, ValueError) as why:
            raise _wrong(f"schema.file cannot be read: {why}") from None
    try:
        return None if text is None else json.dumps(json.loads(text))
    except ValueError as why:
        raise _wrong(f"the Avro schema is not JSON: {why}") from None


def _wrong(what: str) -> ConfigError:
    return ConfigError(Problem("", what))


@contextlib.contextmanager
def _named_errors() -> Iterator[None]:
    """Say of every error whether the call may be repeated."""
    from confluent_kafka.schema_registry.error import SchemaRegistryError
    from httpx2 import TransportError

    try:
        yield
    except TransportError as why:
        raise RetriableError(f"the schema registry does not answer: {with_class(why)}") from why
    except SchemaRegistryError as why:
        if why.http_status_code in _BUSY or why.http_status_code >= 500:
            raise RetriableError(f"the schema registry cannot answer now: {why}") from why
        raise ValueError(f"the schema registry refuses: {why}") from why
    except Exception as why:
        raise ValueError(f"it does not fit the Avro schema: {with_class(why):.{_LONGEST}}") from why
