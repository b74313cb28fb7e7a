"""The contracts of the three parts that a guarantee rests on: fencer, offset store, isolation reader."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Protocol, Self, runtime_checkable

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError
from eosfw.ids import TopicPartition
from eosfw.protocols.client import (
    Backend,
)
from eosfw.records import (
    LogBatch,
    OffsetRange,
    ProducerRecord,
    SourceOffset,
    SourcePartition,
)


@runtime_checkable
class Fencer(Protocol):
    """Shuts out earlier holders of transactional ids (KIP-618's Admin.fenceProducers)."""

    name: ClassVar[str]

    @classmethod
    def connect(cls, backend: Backend, properties: Mapping[str, str], runtime: Runtime) -> Self:
        """Make a fencer over a backend. `properties` are the connector's `admin.override.*`, stripped of the prefix."""

    def fence(self, transactional_ids: Collection[str], timeout: float) -> Mapping[str, EosfwError | None]:
        """Return once each id is fenced (None) or failed for good (its error); ids are fenced in parallel.

        Fenced means: no earlier holder of the id can commit any more, and what it left open is aborted or being
        aborted. "Concurrent", "loading" and "not coordinator" are retried inside. Fencing an id that nobody holds
        succeeds. An empty collection, or an empty id, is a ValueError.
        """

    def close(self) -> None:
        """Let go; a fence under way raises."""


@runtime_checkable
class OffsetStore(Protocol):
    """Turns source offsets into records and back. Pure: without a client it cannot write outside a transaction."""

    name: ClassVar[str]

    def encode(
        self, connector: str, topic: str, offsets: Sequence[tuple[SourcePartition, SourceOffset | None]]
    ) -> Sequence[ProducerRecord]:
        """Records for `topic` that state these offsets; None forgets a partition. ConfigError-free: an offset that
        cannot be stated raises TaskFailedError naming it, before anything is written.

        Equal partitions get one record key, whatever the order of their names: compaction must find the older offset.
        A partition that `decode` returned comes back as the same object, such as a `StoredPartition` that carries the
        key it has in the topic.
        """

    def decode(
        self, connector: str, committed: Iterable[LogBatch]
    ) -> Mapping[str, tuple[SourcePartition, SourceOffset]]:
        """Fold committed records, in order, into the connector's offsets by `partition_key`; a later record wins,
        a null value forgets. Foreign or malformed keys are skipped with a warning; a malformed value under one of the
        connector's own keys raises DamagedDataError with topic, partition and offset (starting from zero would repeat
        everything)."""

    def partition_key(self, partition: SourcePartition) -> str:
        """A text that is equal for equal source partitions."""


class GapReason(Enum):
    """Why offsets are missing between two records a reader shows."""

    CONTROL = "control records of transactions"
    HIDDEN = "control records, aborted transactions or compaction"
    LOST = "deleted below the log start"


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets of a partition that a reader did not show, with the reason."""

    partition: TopicPartition
    offsets: OffsetRange
    reason: GapReason


@runtime_checkable
class IsolationReader(Protocol):
    """Reads what a consumer of a given isolation may see, and accounts for every offset it does not show."""

    name: ClassVar[str]
    """The isolation level it serves, such as `read_committed`."""

    @classmethod
    def over(cls, backend: Backend, runtime: Runtime, *, headers: bool = False) -> Self:
        """Make a reader over a backend."""

    def bounds(self, topics: Collection[str]) -> Mapping[TopicPartition, OffsetRange]:
        """From the log start to the last offset visible now, taken once, for every partition of the topics."""

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch | Gap]:
        """Yield the visible records of the ranges, and a gap wherever offsets are not shown.

        What an open transaction holds back is neither the end nor a gap, since it may still commit: as a LogReader
        does, wait up to `stall_timeout` seconds, then raise ReadStalledError naming partition and offset.
        """

    def close(self) -> None:
        """Let go."""


@runtime_checkable
class ArrowIsolationReader(Protocol):
    """What an IsolationReader may offer besides, for those who make Arrow batches of all that they read."""

    def read_arrow(
        self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float
    ) -> Iterator[LogBatch | Gap]:
        """Show what `read` shows, in batches whose columns pyarrow takes as they are, as an ArrowLogReader gives."""
