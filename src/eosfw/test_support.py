"""What a local cluster or a backend may offer to tests beside its contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from eosfw.ids import ProducerIdAndEpoch, TopicPartition

__all__ = [
    "AuthorizedCluster",
    "BrokerRestart",
    "CoordinatorEvent",
    "CoordinatorInspection",
    "CoordinatorsRebuilt",
    "DiskFailure",
    "FaultInjection",
    "Faults",
    "LogInspection",
    "ProducerLookup",
    "RestartInspection",
    "SecuredCluster",
    "StoredBatch",
]

_NO_OFFSETS: Final[Mapping[TopicPartition, int]] = {}


@runtime_checkable
class ProducerLookup(Protocol):
    """A cluster that knows which producer wrote a record."""

    def producer_of(self, partition: TopicPartition, offset: int) -> ProducerIdAndEpoch | None:
        """The producer of a record; None for a producer without an id, or if there is no record."""


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """What the header of a record batch in a log says. Kafka's `RecordBatch`; -1 where it says nothing."""

    first_offset: int
    last_offset: int
    producer_id: int
    epoch: int
    first_sequence: int
    transactional: bool
    control: str = ""
    """For a control batch `commit` or `abort`, and `other` for one that ends no transaction."""

    def sequence_of(self, offset: int) -> int:
        """The sequence number of a record in it; they go from 0 to 2^31 - 1, and then from 0 again."""
        return -1 if self.first_sequence < 0 else (self.first_sequence + offset - self.first_offset) & 0x7FFF_FFFF


@runtime_checkable
class LogInspection(Protocol):
    """A backend that reads batches as a broker stores them, also those of control records and aborted transactions."""

    def stored_batches(
        self, partition: TopicPartition, start: int, end: int, stall_timeout: float
    ) -> Iterator[StoredBatch]:
        """Every batch with an offset from `start` up to `end`; ReadStalledError if none comes for `stall_timeout`."""


@dataclass(frozen=True, slots=True)
class BrokerRestart:
    """A broker has stopped without any order, and has begun again from its logs."""

    at: float
    """Seconds of the runtime's clock."""
    waits_for_disk: bool
    """Whether what it acknowledges outlives a power cut, too, and not only its process."""
    before: Mapping[TopicPartition, str]
    """The state of each partition's producers and ends as appends had made it."""
    after: Mapping[TopicPartition, str]
    """The same as rebuilt from the logs."""
    power_cut: bool = False
    """Whether its machine lost power: then nothing is known of either state."""
    cut_short: int = 0
    """How many starts after it did not come to their end, since the machine lost power once more."""
    read_only: bool = False
    """Whether it serves reads alone, since its disk is full."""
    damage_refused: bool = False
    """Whether it refused to start until a damaged file was restored."""


@dataclass(frozen=True, slots=True)
class DiskFailure:
    """A call of a broker's disk has failed."""

    call: str
    """`write`, `fsync`, `rename` or `create`."""
    code: str
    """`EIO` or `ENOSPC`."""
    name: str
    """The name of the file or directory."""
    waiting: int
    """How many answers waited for the disk."""


@runtime_checkable
class RestartInspection(Protocol):
    """A cluster that knows what its restarts did to its state."""

    @property
    def restarts(self) -> Sequence[BrokerRestart]:
        """All of them, oldest first."""

    @property
    def disk_failures(self) -> Sequence[DiskFailure]:
        """Each call of the disk that a fault has let fail, oldest first."""

    @property
    def refusal(self) -> str | None:
        """Why the broker did not start again, in its own words; None while it serves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorEvent:
    """A request that a coordinator of transactions or consumer groups was asked, or that it has answered."""

    at: float
    """Seconds of the runtime's clock."""
    request: str
    """Kafka's name of it, such as `OffsetFetch`; empty for offsets that the coordinator has forgotten."""
    number: int
    """The same for a request and its answer."""
    answered: bool
    """Whether it was answered, without an error; else it has come."""
    transactional_id: str = ""
    producer: ProducerIdAndEpoch | None = None
    """Who asks; in an answer, with which id and epoch it goes on."""
    committed: bool = False
    """Whether `EndTxn` asks for a commit."""
    group_id: str = ""
    offsets: Mapping[TopicPartition, int] = field(default_factory=lambda: _NO_OFFSETS)
    """What is committed, or was given; -1 for none."""
    stable: bool = False
    """Whether `OffsetFetch` asks for stable offsets alone (KIP-447)."""


@dataclass(frozen=True, slots=True)
class CoordinatorsRebuilt:
    """What coordinators hold after a restart of their broker, of what they held before."""

    at: float
    """Seconds of the runtime's clock."""
    transactions: Mapping[str, tuple[ProducerIdAndEpoch, str] | None]
    """For each transactional id with which producer it goes on, and the state of its transaction; None if unknown."""
    offsets: Mapping[tuple[str, TopicPartition], int]
    """The committed offset of each consumer group for a partition, -1 if there is none; not where one is pending."""


@runtime_checkable
class CoordinatorInspection(Protocol):
    """A cluster that records what its coordinators are asked and answer."""

    @property
    def coordinator_events(self) -> Sequence[CoordinatorEvent | CoordinatorsRebuilt]:
        """All of them, oldest first; none if the cluster was not started to record them."""


class Faults(Protocol):
    """The fault injector of a cluster."""

    def add(self, what: str, **fields: object) -> Any:
        """Inject a fault; ConfigError for an unknown kind.

        The fault it returns tells how often it was triggered (`fired`, `firings`), waits for that
        (`await_fired(timeout)`) and lets delayed requests go on (`release()`).
        """


@runtime_checkable
class FaultInjection(Protocol):
    """A cluster with fault injection."""

    faults: Faults


@runtime_checkable
class SecuredCluster(Protocol):
    """A cluster that can make a throw-away authority, and a user, for its broker property `eosfw.tls.auto`."""

    @property
    def client_properties(self) -> Mapping[str, str]:
        """What clients need beside `bootstrap.servers`."""


@runtime_checkable
class AuthorizedCluster(Protocol):
    """A cluster whose users have rights, each a sentence: `Write on topic orders`, `Create on cluster`.

    A name with `*` behind is a prefix; `Deny` before a right takes it away, whatever else allows it. A wrong sentence
    is a ConfigError.
    """

    def client_properties_of(self, user: str) -> Mapping[str, str]:
        """What a user needs beside `bootstrap.servers`."""

    def allow(self, user: str, *rights: str) -> None:
        """Give a user rights; they count on return."""

    def revoke(self, user: str, *rights: str) -> None:
        """Take back what `allow` gave, in the same words."""
