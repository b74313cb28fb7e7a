"""The contracts of what changes or drops records between a task and its topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

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
