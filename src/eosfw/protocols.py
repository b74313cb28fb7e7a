"""Implement these to give the framework a backend, a cluster, an offset store, a fencer, a reader or a step engine.

Common rules. Durations are seconds (float); timestamps are milliseconds. Every blocking call takes a `timeout` and
raises when it is over: `ClusterUnavailableError` with the address when nobody answered, `IndefiniteOutcomeError` when
the effect is unknown. No exception of a client library leaves an implementation; `eosfw.errors` names the fates. An
object is used by one thread at a time unless its contract says otherwise; `close` may be called from any thread, twice,
and unblocks whoever waits inside. Constructors do not block and do not talk to the cluster unless said so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Protocol, Self, runtime_checkable

from eosfw.capabilities import Capabilities
from eosfw.concurrency import Runtime
from eosfw.config.parts import PartChoice
from eosfw.config.translation import Client
from eosfw.errors import EosfwError, Problem
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.records import (
    LogBatch,
    OffsetRange,
    ProducerBatch,
    ProducerRecord,
    RecordMetadata,
    SourceOffset,
    SourcePartition,
)
from eosfw.state.steps import StepEvent
from eosfw.transactions import TransactionAdmin


class IsolationLevel(Enum):
    """Which records a reader sees, in Kafka's words (KIP-98)."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


# --- backends: a client of some cluster -------------------------------------------------------------------------------

DeliveryCallback = Callable[[RecordMetadata | None, EosfwError | None], None]
"""Called once for a sent record: where it lies, or why it was not written.

The call comes on any thread, before the commit or flush that covers the record returns.
"""
BatchDeliveryCallback = Callable[[int, RecordMetadata | None, EosfwError | None], None]
"""Called once for each record of a sent batch, as a `DeliveryCallback` is; the number is the record's place in it."""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create; `config` holds Kafka's topic properties, such as `cleanup.policy`."""

    name: str
    partitions: int = 1
    replication_factor: int = 1
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that holds back a partition's last stable offset."""

    transactional_id: str
    producer: ProducerIdAndEpoch
    partition: TopicPartition
    first_offset: int
    age: float
    """Seconds since it began."""


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadata:
    """For whom a consumer group's offsets are committed: a member of one generation (KIP-447), by default anybody."""

    group_id: str
    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None


class TransactionalProducer(Protocol):
    """Writes records, in transactions if it has a transactional id (KIP-98's producer states).

    With a transactional id the order is: init_transactions once; then begin, send..., commit or abort, and again;
    send_offsets is as legal as send.
    Without one only send, flush and close are legal. Any other order raises IllegalStateError and changes nothing;
    after a FatalError every call but close raises. `send` and `send_batch` may be called by many threads, the others
    by one. A class that names this protocol as its base inherits `send`.
    """

    transactional_id: str | None

    def init_transactions(self, timeout: float) -> None:
        """Take over the transactional id: finish what an earlier holder left open, fence it, get a higher epoch."""

    def begin_transaction(self) -> None:
        """Open a transaction here; the cluster learns of it with the first record."""

    def send(self, record: ProducerRecord, on_delivery: DeliveryCallback | None = None) -> None:
        """Accept one record for delivery: `send_batch` with a batch of one."""
        if on_delivery is None:
            self.send_batch(record.as_batch())
        else:
            self.send_batch(record.as_batch(), lambda _, metadata, error: on_delivery(metadata, error))

    def send_batch(self, batch: ProducerBatch, on_delivery: BatchDeliveryCallback | None = None) -> None:
        """Accept records for delivery, waiting for room if need be; a later failure surfaces from commit or flush.

        All are accepted, or it raises: RetriableError if none was accepted, else the transaction must be aborted.
        Records of one sender and partition keep their order. `on_delivery` costs speed: ask only when needed.
        """

    def send_offsets(self, offsets: Mapping[TopicPartition, int], group: ConsumerGroupMetadata, timeout: float) -> None:
        """Let a consumer group's offsets (of the next records to read) commit with the transaction (KIP-98, KIP-447).

        No offsets: nothing happens. A member the group no longer knows, or of an older generation, raises
        AbortableError: whoever took over will read the same records.
        """

    def flush(self, timeout: float) -> None:
        """Wait until every accepted record was delivered; raise the first failure."""

    def commit_transaction(self, timeout: float) -> None:
        """Flush, then commit. A timeout is indefinite: discard the producer, whose end may come late."""

    def abort_transaction(self, timeout: float) -> None:
        """Drop what was not sent and abort; the same producer may begin again."""

    def close(self, timeout: float = 0.0) -> None:
        """Let go at once (0) or after delivering; an open transaction is left to be aborted by others."""


class LogReader(Protocol):
    """Reads ranges of partitions, without a consumer group and without committing anything."""

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch]:
        """Yield every visible record of the ranges, each partition in offset order; stop when all ends are reached.

        An end counts as reached by position, so trailing control records or aborted records do not stop the read.
        A start below the log start is a DamagedDataError, never a silent jump. When nothing advances for
        `stall_timeout` seconds, raise ReadStalledError naming the partition and offset that is waited for: at
        read_committed an open transaction below an end does that. One read at a time; may be called again.
        """

    def close(self) -> None:
        """Let go; a read under way on another thread ends by raising."""


class Admin(TransactionAdmin, Protocol):
    """Asks a cluster about topics and transactions, changes them. Calls block at most the timeout the backend got."""

    def partitions(self, topics: Collection[str] | None = None) -> Mapping[str, int]:
        """How many partitions each existing topic has; topics that do not exist are left out. None means all."""

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """Create topics and wait until their partitions can be written; raise TopicExistsError, ConfigError, ..."""

    def delete_topics(self, topics: Collection[str]) -> Mapping[str, EosfwError | None]:
        """Delete topics with their records; what became of each: None, or UnknownTopicOrPartitionError, ...

        A broker may go on deleting behind its answer. Needs the capability `delete_topics`, else raises.
        """

    def delete_groups(self, group_ids: Collection[str]) -> Mapping[str, EosfwError | None]:
        """Delete consumer groups with their offsets; what became of each: None, or GroupIdNotFoundError, ...

        A group with members is a GroupNotEmptyError. Needs the capability `delete_topics`, else raises.
        """

    def topic_config(self, topic: str) -> Mapping[str, str]:
        """The topic's properties in force, by Kafka's names."""

    def log_start_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The first offset that each partition still holds."""

    def end_offsets(
        self, partitions: Collection[TopicPartition], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        """The high watermark (read_uncommitted) or the last stable offset (read_committed) of each partition."""

    def open_transactions(self, partitions: Collection[TopicPartition]) -> Sequence[OpenTransaction]:
        """Who holds back the last stable offset; needs the capability `describe_transactions`, else raises."""

    def group_offsets(self, group_id: str, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The offsets a consumer group has committed, once no transaction can change them any more (KIP-447).

        Partitions it has none for are left out.
        """

    def close(self) -> None:
        """Let go; whatever is under way fails."""


@runtime_checkable
class Backend(Protocol):
    """A client library for one cluster. Thread-safe; each object it makes is independent."""

    name: ClassVar[str]
    """What `[cluster] backend = ...` says; unique."""
    capabilities: ClassVar[Capabilities]

    @classmethod
    def connect(cls, properties: Mapping[str, str], runtime: Runtime) -> Self:
        """Make a client from Kafka's client properties; `bootstrap.servers` is given. ConfigError on a bad property.

        Does not wait for the cluster; `timeout` of single calls, or `default.api.timeout.ms`, bounds each one.
        """

    @classmethod
    def problems(cls, properties: Mapping[str, str], client: Client) -> Sequence[Problem]:
        """What keeps one kind of client from taking these properties, by Kafka's names; makes and asks nothing.

        The place of each problem is the property's name. A worker asks before it replaces any task, so what `producer`,
        `reader` or `admin` would refuse should be told here.
        """

    def producer(
        self,
        transactional_id: str | None,
        *,
        transaction_timeout: float = 60.0,
        properties: Mapping[str, str] | None = None,
    ) -> TransactionalProducer:
        """Make a producer: idempotent with acks=all when transactional, Java's partitioner. `properties` are Kafka's
        names; one that cannot be translated, or contradicts idempotence (`eosfw.config.idempotence`), is a ConfigError.
        So is an empty transactional id. The framework has settled enforced ones already."""

    def reader(
        self, isolation: IsolationLevel, *, headers: bool = False, properties: Mapping[str, str] | None = None
    ) -> LogReader:
        """Make a reader; `headers` asks for record headers too."""

    def admin(self, properties: Mapping[str, str] | None = None) -> Admin:
        """Make an admin client."""

    def close(self) -> None:
        """Close what this backend still holds."""


@runtime_checkable
class LocalCluster(Protocol):
    """A cluster this machine can serve for itself, reachable by any Kafka client at `bootstrap_servers`.

    `listens_on` is the HOST:PORT of its socket: another one where clients are told an advertised address.
    """

    name: ClassVar[str]
    bootstrap_servers: str
    listens_on: str

    @classmethod
    def start(cls, properties: Mapping[str, str], runtime: Runtime) -> Self:
        """Serve a fresh cluster and return once its port is open. `listeners` defaults to a free loopback port."""

    def open_transactions(self) -> Sequence[OpenTransaction]:
        """Every transaction that is open now."""

    def close(self) -> None:
        """Stop serving: no port, thread or process remains."""


# --- the three hooks a guarantee rests on -----------------------------------------------------------------------------


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


# --- steps over committed records -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StepInput:
    """A topic as a table: Kafka's columns, and with `format` (json, csv) and `schema` the value's own."""

    table: str
    topic: str
    format: str | None = None
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A named computation from topics to an output folder: a SQL text, or a function `module:name` of DataFrames."""

    name: str
    inputs: Sequence[StepInput]
    output: str
    sql: str | None = None
    function: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """How often identities appear against how often they should; `None` means "not verified", never 0."""

    duplicates: int | None
    missing: int | None
    examples: Sequence[str] = ()


@runtime_checkable
class StepEngine(Protocol):
    """Runs steps over committed records, and counts a verdict, somewhere else than in this process."""

    name: ClassVar[str]

    @classmethod
    def problems(cls, steps: Sequence[Step], folder: str) -> Sequence[Problem]:
        """What keeps these steps from running here (no Java, a function that cannot be imported); starts nothing."""

    @classmethod
    def start(cls, backend: str, properties: Mapping[str, str], folder: str, reader: PartChoice) -> Self:
        """Start over the cluster that the named backend reaches with these client properties; `reader` is the isolation
        reader that reads there. Relative paths and modules of steps are looked for in `folder`."""

    def run(self, step: Step, ranges: Mapping[TopicPartition, OffsetRange]) -> int:
        """Run a step over exactly these committed ranges, replace its output, return its rows. StepFailedError names
        the step and keeps the earlier output."""

    def verdict(
        self,
        ranges: Mapping[TopicPartition, OffsetRange],
        identity: str,
        expected: Iterable[Sequence[bytes]],
    ) -> Verdict:
        """Count identities that appear more often than expected (duplicates) or less (missing) in the ranges.
        `identity` is `value`, `headers` or `field:NAME`; `expected` comes in chunks. DamagedDataError names records
        that carry no such identity: they are neither duplicates nor verified."""

    def close(self) -> None:
        """Stop everything that was started."""


# --- who watches ------------------------------------------------------------------------------------------------------


@runtime_checkable
class Observer(Protocol):
    """Hears of every step. Called on the acting thread with no lock held, so blocking holds that task or leader up:
    that is how a zombie is made. An exception is logged and ignored. Instances are made without arguments."""

    name: ClassVar[str]

    def observe(self, event: StepEvent) -> None:
        """Take note of one step; called by many threads."""
