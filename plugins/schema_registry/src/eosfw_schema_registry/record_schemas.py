"""Schemas that come with the records, in a schema registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from eosfw.config import Boolean, Config, ConfigDef, Int
from eosfw.errors import DataError
from eosfw_schema_registry.properties import REGISTRY
from eosfw_schema_registry.registry import RegistrySchema, SchemaRegistry, wrong
from eosfw_schema_registry.subject_names import subject_name
from eosfw_schema_registry.wire_format import head, parted

K = TypeVar("K")
V = TypeVar("V")
RECORD_SCHEMAS = REGISTRY + ConfigDef(
    Boolean(
        "latest.compatibility.strict",
        True,
        "with use.latest.version: refuse a schema of a record that the registry does not take for compatible with it",
    ),
    Boolean(
        "ignore.default.for.nullables",
        False,
        "write a null as a null where its schema has a default that stands for it",
    ),
    Int("schemas.cache.config", 1000, "how many schemas are kept, with what was made for them", at_least=1),
)


class Kept(dict[K, V]):
    """What was made for schemas; the oldest goes where there is no room for another."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def keep(self, key: K, made: V) -> V:
        """Keep what was made for a key, and give it back."""
        if len(self) >= self._most:
            del self[next(iter(self))]
        self[key] = made
        return made


class RecordSchemas:
    """Registers the schemas of keys or values of records, and looks up those of others.

    Its errors are those of `SchemaRegistry`.
    """

    def __init__(self, config: Config, kind: str, converter: str) -> None:
        """`kind` is the registry's word for the format, `converter` the name that a property chooses it by."""
        self._kind = kind
        self._part = config["converter.type"]
        if self._part == "header":
            raise wrong(f"header.converter cannot be {converter}: choose json, string or bytes")
        self._strategy = config[f"{self._part}.subject.name.strategy"]
        self.use_latest: bool = config["use.latest.version"]
        self._strict = config["latest.compatibility.strict"]
        self.registry = SchemaRegistry(config)

    def head(self, topic: str, record_name: str | None, schema: RegistrySchema) -> bytes:
        """What stands in front of each value of a schema; the registry is asked if it was not yet."""
        subject = subject_name(self._strategy, topic, self._part, record_name)
        if not self.use_latest:
            return head(self.registry.registered_id(subject, schema))
        number, latest = self.registry.latest(subject)
        if latest.kind != self._kind:
            raise DataError(f"the latest version of subject {subject} is {latest.kind}, not {self._kind}")
        if self._strict and latest.text != schema.text and not self.registry.is_compatible(subject, schema):
            what = "is not compatible with the latest version of its subject"
            raise DataError(f"the schema of the record {what}, {subject}: register it, or change the record")
        return head(number)

    def stored(self, data: bytes, form: str | None = None) -> tuple[int, RegistrySchema, bytes]:
        """The id and the schema of a value in Confluent's wire format, and what follows them."""
        number, rest = parted(data)
        schema = self.registry.by_id(number, form)
        if schema.kind != self._kind:
            raise DataError(f"its schema, {number}, is {schema.kind}, not {self._kind}")
        return number, schema, rest

    def referred(self, schema: RegistrySchema, form: str | None = None) -> dict[str, str]:
        """The texts of the schemas that a schema refers to, by their names there, the deepest first."""
        return dict(self._referred(schema, form))

    def _referred(self, schema: RegistrySchema, form: str | None) -> Iterator[tuple[str, str]]:
        for name, subject, version in schema.references:
            found = self.registry.version(subject, version, form)
            yield from self._referred(found, form)
            yield name, found.text

    def close(self) -> None:
        """Close the connections to the registry."""
        self.registry.close()
