"""The converter to Avro."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar, Final, NamedTuple

from eosfw.config import Config
from eosfw.data import ArrowValues, Schema, SchemaAndValue, StructColumns
from eosfw.errors import DataError
from eosfw_schema_registry.avro.connect_schemas import connect_schema
from eosfw_schema_registry.avro.encoding import Encoder, encoder, parsed_schema, resolving_encoder
from eosfw_schema_registry.avro.form import AVRO_DATA, AvroForm, is_union
from eosfw_schema_registry.avro.given_schema import GIVEN_SCHEMA, given_schema
from eosfw_schema_registry.avro.parsing import resolved
from eosfw_schema_registry.avro.reading import value_reader
from eosfw_schema_registry.avro.schema_text import record_name, schema_text
from eosfw_schema_registry.avro.schemas import avro_schema
from eosfw_schema_registry.avro.values import value_encoder
from eosfw_schema_registry.properties import REGISTRY
from eosfw_schema_registry.record_schemas import Kept
from eosfw_schema_registry.registry import RegistrySchema, SchemaRegistry, wrong
from eosfw_schema_registry.subject_names import subject_name
from eosfw_schema_registry.wire_format import head, parted

AVRO: Final = AVRO_DATA + GIVEN_SCHEMA
_MANY: Final = 64
"""Values from which on columns are written in less time than one by one."""
_Reader = tuple[Schema, Callable[[bytes], Any]]


class _Writer(NamedTuple):
    """What writes the values of one topic and schema."""

    head: bytes
    encode: Encoder
    by_columns: bool = False
    """Whether the bytes are those of Connect's schema, which columns are written by, too."""


class AvroConverter:
    """Writes Avro as Confluent's `AvroConverter` does, with the schema in a schema registry.

    The schema is that of the record; `schema`, `schema.file` or the registry's latest is for records that have none.
    What it reads back has the schema and the values that Confluent's would make.
    """

    name: ClassVar[str] = "avro"
    aliases: ClassVar = ("io.confluent.connect.avro.AvroConverter", "AvroConverter")
    config: ClassVar = REGISTRY + AVRO

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
        most = config["schemas.cache.config"]
        self._writers: Kept[tuple[str, Schema | None], _Writer] = Kept(most)
        self._readers: Kept[int, _Reader] = Kept(most)
        self._registry = SchemaRegistry(config)

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        writer = self._writers.get((topic, schema)) or self._kept_writer(topic, schema)
        return writer.head + writer.encode(value)

    def from_connect_columns(self, topic: str, schema: Schema | None, values: Sequence[Any]) -> Sequence[bytes | None]:
        head, encode, by_columns = self._writers.get((topic, schema)) or self._kept_writer(topic, schema)
        if by_columns and schema is not None and len(values) >= _MANY and _libraries():
            if isinstance(values, StructColumns):
                from eosfw_schema_registry.avro.columns import encoded_columns

                # The structs of an optional schema are the second member of its union.
                return encoded_columns(self._form, schema, values, head + b"\2" if schema.optional else head)
            if isinstance(values, ArrowValues):
                from eosfw_schema_registry.avro.columns import encoded_array

                return encoded_array(self._form, schema, values.array, head)
        return [None if one is None else head + encode(one) for one in values]

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return SchemaAndValue(None, None)
        number, rest = parted(data)
        schema, read = self._readers.get(number) or self._kept_reader(number)
        return SchemaAndValue(schema, read(rest))

    def _kept_reader(self, number: int) -> _Reader:
        stored = self._registry.by_id(number)
        if stored.kind != "AVRO":
            raise DataError(f"the schema {number} in the schema registry is {stored.kind}, not AVRO")
        node = resolved(self._registry.texts(stored))
        schema = connect_schema(self._form, node)
        return self._readers.keep(number, (schema, value_reader(self._form, node, schema)))

    def _kept_writer(self, topic: str, schema: Schema | None) -> _Writer:
        made = self._by_given(topic) if schema is None else self._by_own(topic, schema)
        return self._writers.keep((topic, schema), made)

    def _by_own(self, topic: str, schema: Schema) -> _Writer:
        """What writes records by their own schema, or by the latest one of its subject."""
        avro = avro_schema(self._form, schema)
        text, encode = schema_text(avro), value_encoder(self._form, schema)
        subject = self._subject(topic, avro)
        if not self._use_latest:
            return _Writer(
                head(self._registry.registered_id(subject, RegistrySchema(text))), encode, not is_union(schema)
            )
        number, latest = self._registry.latest(subject)
        if json.loads(latest.text) == json.loads(text):
            return _Writer(head(number), encode, not is_union(schema))
        other = parsed_schema(self._registry.texts(latest))
        return _Writer(head(number), resolving_encoder(parsed_schema([text]), encode, other))

    def _by_given(self, topic: str) -> _Writer:
        """What writes records without a schema."""
        if self._given is not None:
            subject = self._subject(topic, json.loads(self._given))
            number = self._registry.registered_id(subject, RegistrySchema(self._given))
            return _Writer(head(number), encoder(parsed_schema([self._given])))
        if not self._use_latest:
            raise DataError("the record has no schema: say schema, schema.file or use.latest.version=true")
        number, latest = self._registry.latest(self._subject(topic, None))
        return _Writer(head(number), encoder(parsed_schema(self._registry.texts(latest))))

    def _subject(self, topic: str, avro: Any) -> str:
        return subject_name(self._strategy, topic, self._part, record_name(avro))

    def close(self) -> None:
        """Close the connections to the registry."""
        self._registry.close()


@cache
def _libraries() -> bool:
    """Whether what writes columns at once is there."""
    return all(map(find_spec, ("numpy", "pyarrow")))
