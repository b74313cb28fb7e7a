"""The contracts of what changes or drops records between a task and its topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from eosfw.data import Schema
from eosfw.records import ProducerBatch, SourceRecord


@runtime_checkable
class Transformation(Protocol):
    """Changes or drops the records of a task before they are converted and sent (Kafka Connect's `Transformation`).

    Each task has its own instance, made without arguments. A class may also be `Configurable`, `Aliased`, `Closeable`.
    """

    name: ClassVar[str]
    """What `transforms.ALIAS.type` says; unique among installed transformations."""

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        """The record to send, made with `dataclasses.replace`; None drops it, and its source offset commits all the
        same. The same record must give the same result again: verification repeats the call. RetriableError asks for a
        repetition (`errors.retry.timeout`); `errors.tolerance` says what any other exception means.
        """


@runtime_checkable
class BatchTransformation(Protocol):
    """A transformation without state that can change many records at once, which is several times as fast."""

    def apply_batch(self, batch: ProducerBatch) -> ProducerBatch | None:
        """What `apply` would give for each record: as many records, or None to drop them all.

        Values are as the task gave them. An exception has `apply` called for each record instead.
        """


@runtime_checkable
class Predicate(Protocol):
    """Chooses the records to which a transformation applies (Kafka Connect's `Predicate`)."""

    name: ClassVar[str]
    """What `predicates.ALIAS.type` says; unique among installed predicates."""

    def test(self, record: SourceRecord) -> bool:
        """Whether the transformation applies to a record."""


@runtime_checkable
class BatchPredicate(Protocol):
    """A predicate without state that can test many records at once."""

    def test_batch(self, batch: ProducerBatch) -> bool | Sequence[bool]:
        """What `test` would give for each record, or one answer for all of them."""


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
