"""The contracts of what turns keys, values and headers of records into bytes, and of what reads them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from eosfw.data import Schema, SchemaAndValue


@runtime_checkable
class Converter(Protocol):
    """Turns keys, values or headers of records into the bytes to send (Kafka Connect's `Converter`).

    Each task has its own instance, made without arguments. A class may also be `Configurable`, `Aliased`, `Closeable`;
    if it defines the property `converter.type`, it is told whether it converts a `key`, a `value` or a `header`.
    """

    name: ClassVar[str]
    """What `key.converter`, `value.converter` or `header.converter` says; unique among installed converters."""

    def from_connect_data(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes of what a task gave; None is null.

        With a schema the value fits it, in the form that `eosfw.data.fitted` gives; a struct is a dict with all fields
        in the schema's order. ValueError or TypeError, naming the field and never the value, for what cannot be
        converted. RetriableError asks for a repetition (`errors.retry.timeout`).
        """


@runtime_checkable
class BatchConverter(Protocol):
    """A converter that can convert many values at once, which is several times as fast."""

    def from_connect_columns(self, topic: str, schema: Schema | None, values: Sequence[Any]) -> Sequence[bytes | None]:
        """What `from_connect_data` would give for each value; an exception has it called for each instead.

        Structs mostly come as `eosfw.data.StructColumns`, whose columns are lists or arrays of pyarrow.
        """


@runtime_checkable
class ReversibleConverter(Protocol):
    """A converter that also reads what it wrote (`toConnectData` of Kafka Connect's `Converter`)."""

    def to_connect_data(self, topic: str, data: bytes | None) -> SchemaAndValue:
        """The value of which `from_connect_data` makes these bytes, with its schema, or None if the bytes state none.

        ValueError, without the data, for bytes that cannot be read.
        """


@runtime_checkable
class HeaderConverter(Protocol):
    """Turns the values of headers into bytes, and back (Kafka Connect's `HeaderConverter`).

    Each task has its own instance, made without arguments. A class may also be `Configurable`, `Aliased`, `Closeable`;
    if it defines the property `converter.type`, that is `header`. `header.converter` takes converters, too.
    """

    name: ClassVar[str]
    """What `header.converter` says; unique among installed header converters. One of this name comes before a
    converter of the same name."""

    def from_connect_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes of the header that a task or a transformation gave; None is null. As `from_connect_data`."""

    def to_connect_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        """The value of which `from_connect_header` makes these bytes, with its schema. As `to_connect_data`."""
