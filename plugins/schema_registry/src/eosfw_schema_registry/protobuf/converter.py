"""The converter to Protobuf with its schema in a schema registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from eosfw.config import Boolean, Choice, Config, ConfigDef
from eosfw.data import Schema, SchemaAndValue, StructColumns
from eosfw.errors import DataError
from eosfw_schema_registry.record_schemas import RECORD_SCHEMAS, Kept, RecordSchemas
from eosfw_schema_registry.registry import RegistrySchema, wrong
from eosfw_schema_registry.wire_format import message_indexes, parted_indexes

if TYPE_CHECKING:
    from eosfw_schema_registry.protobuf.encoders import MessageEncoder

_KIND: Final = "PROTOBUF"
_SERIALIZED: Final = "serialized"
"""Asks a registry for the bytes of a descriptor: a .proto file needs a compiler to be read."""
_PACKAGE: Final = "io.confluent.kafka.serializers.subject."
_DEFAULT, _QUALIFIED = "DefaultReferenceSubjectNameStrategy", "QualifiedReferenceSubjectNameStrategy"
PROTOBUF: Final = ConfigDef(
    Boolean("scrub.invalid.names", False, "write names that Protobuf does not take in another way"),
    Boolean("optional.for.nullables", False, "write and read what may be null as `optional`"),
    Boolean("wrapper.for.nullables", False, "write and read what may be null as a wrapper message"),
    Boolean("wrapper.for.raw.primitives", True, "read a wrapper message that is a whole value as what is in it"),
    Boolean("optional.for.proto2", True, "read what is `optional` in proto2 and missing as null"),
    Boolean("enhanced.protobuf.schema.support", False, "read names with their packages"),
    Boolean("int.for.enums", False, "read values of enums as their numbers"),
    Boolean("flatten.unions", False, "read the fields of a oneof as fields beside the others"),
    Boolean("generate.index.for.unions", True, "name the field of a oneof with its index behind the name"),
    Boolean("generate.struct.for.nulls", False, "read a message that is missing as one with its defaults"),
    Boolean("skip.known.types", True, "register no files that registries know, such as google/type/date.proto"),
    Choice(
        "reference.subject.name.strategy",
        _DEFAULT,
        "how the subject of a file that a schema imports is named",
        among=(_DEFAULT, _QUALIFIED, _PACKAGE + _DEFAULT, _PACKAGE + _QUALIFIED),
    ),
)
"""The properties that other formats have not."""


class ProtobufConverter:
    """Writes Protobuf as Confluent's `ProtobufConverter` does; the schema of the record is registered as a message."""

    name: ClassVar[str] = "protobuf"
    aliases: ClassVar = ("io.confluent.connect.protobuf.ProtobufConverter", "ProtobufConverter")
    config: ClassVar = RECORD_SCHEMAS + PROTOBUF

    def configure(self, config: Config) -> None:
        try:
            import google.protobuf
            import google.type  # noqa: F401
        except ImportError as why:
            needs = f"Protobuf needs more packages ({why.name} is missing)"
            raise wrong(f"{needs}. Try: pip install 'eosfw-schema-registry[protobuf]'") from None
        from eosfw_schema_registry.protobuf.format import ProtobufFormat

        self._schemas = RecordSchemas(config, _KIND, self.name)
        self._format = ProtobufFormat(config)
        self._skip_known = config["skip.known.types"]
        self._dots = config["reference.subject.name.strategy"].endswith(_QUALIFIED)
        most = config["schemas.cache.config"]
        self._writers: Kept[tuple[str, Schema], _Writer] = Kept(most)
        self._readers: Kept[tuple[int, tuple[int, ...]], tuple[Schema, Callable[[bytes], Any]]] = Kept(most)

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        if value is None:
            return None
        if schema is None:
            raise DataError("the record has no schema: protobuf needs one. Choose json for records without")
        writer = self._writers.get((topic, schema)) or self._writer(topic, schema)
        return writer.head + writer.encoder.encode(value)

    def from_connect_columns(self, topic: str, schema: Schema | None, values: Sequence[Any]) -> Sequence[bytes | None]:
        if schema is None or not values:
            return [self.from_connect_data(topic, schema, one) for one in values]
        writer = self._writers.get((topic, schema)) or self._writer(topic, schema)
        head, encode = writer.head, writer.encoder.encode
        if isinstance(values, StructColumns):
            return [head + one for one in writer.encoder.encode_columns(values)]
        return [None if one is None else head + encode(one) for one in values]

    def _writer(self, topic: str, schema: Schema) -> _Writer:
        written = self._format.written(schema)
        references = () if self._skip_known else tuple(self._reference(name) for name in written.imports)
        head = self._schemas.head(topic, written.name, RegistrySchema(written.text, _KIND, references))
        indexes = written.indexes
        if self._schemas.use_latest:
            _, stored, _ = self._schemas.stored(head, _SERIALIZED)
            referred = self._schemas.referred(stored, _SERIALIZED)
            indexes = self._format.place_in(stored.text, referred, schema, written)
        return self._writers.keep((topic, schema), _Writer(head + message_indexes(indexes), written.encoder))

    def _reference(self, name: str) -> tuple[str, str, int]:
        """The registered file that others import by a name."""
        subject = name.removesuffix(".proto").replace("/", ".") if self._dots else name
        text = RegistrySchema(self._format.known_text(name), _KIND)
        return name, subject, self._schemas.registry.registered_version(subject, text)

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """The schema and the value that these bytes are; DataError, without the bytes, if they are none.

        RetriableError if the registry does not answer.
        """
        if data is None:
            return SchemaAndValue(None, None)
        number, stored, rest = self._schemas.stored(data, _SERIALIZED)
        indexes, message = parted_indexes(rest)
        reader = self._readers.get((number, indexes))
        if reader is None:
            referred = self._schemas.referred(stored, _SERIALIZED)
            reader = self._readers.keep((number, indexes), self._format.read(stored.text, referred, indexes))
        schema, decode = reader
        return SchemaAndValue(schema, decode(message))

    def close(self) -> None:
        """Close the connections to the registry."""
        self._schemas.close()


@dataclass(frozen=True, slots=True)
class _Writer:
    head: bytes
    """The id of the schema and the place of the message in it."""
    encoder: MessageEncoder
