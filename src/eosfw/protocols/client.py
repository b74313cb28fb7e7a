"""The contract of a client of some cluster: producer, reader, admin, and the backend that makes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Protocol, Self, runtime_checkable

from eosfw.capabilities import Capabilities
from eosfw.concurrency import Runtime
from eosfw.config.translation import Client
from eosfw.errors import EosfwError, Problem
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols.group import GroupConsumer, GroupDescription
from eosfw.records import (
    LogBatch,
    OffsetRange,
    ProducerBatch,
    ProducerRecord,
    RecordMetadata,
)
from eosfw.transactions import TransactionAdmin


class IsolationLevel(Enum):
    """Which records a reader sees, in Kafka's words (KIP-98)."""

    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


DeliveryCallback = Callable[[RecordMetadata | None, EosfwError | None], None]
"""Called once for a sent record with its place, or with the reason why it was not written.

The call comes on any thread, before the commit or flush that covers the record returns.
"""
BatchDeliveryCallback = Callable[[int, RecordMetadata | None, EosfwError | None], None]
"""Called once for each record of a sent batch, as a `DeliveryCallback` is; the number is the record's place in it."""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create; `config` holds Kafka's topic properties, such as `cleanup.policy`.

    -1 partitions, or a replication factor of -1, are the cluster's own number of them (KIP-464).
    """

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
    """The member and generation of a consumer group that commits offsets (KIP-447); by default no particular member."""

    group_id: str
    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None


class TransactionalProducer(Protocol):
    """Writes records, in transactions if it has a transactional id (Kafka's `Producer`; KIP-98's producer states).

    With a transactional id the order is: init_transactions once; then begin, send..., commit or abort, and so on;
    send_offsets is legal where send is. Without one only send, flush and close are legal. Any other order raises
    IllegalStateError and changes nothing; after a FatalError every call but close raises. Many threads may call `send`
    and `send_batch`, one thread the others. A subclass of this protocol inherits `send`.
    """

    transactional_id: str | None

    def init_transactions(self, timeout: float) -> None:
        """Take over the transactional id: fence its earlier holder, finish an open transaction, get a higher epoch."""

    def begin_transaction(self) -> None:
        """Begin a transaction; the cluster learns of it with the first record."""

    def send(self, record: ProducerRecord, on_delivery: DeliveryCallback | None = None) -> None:
        """Accept one record for delivery: `send_batch` with a batch of one."""
        if on_delivery is None:
            self.send_batch(ProducerBatch.of_one(record))
        else:
            self.send_batch(ProducerBatch.of_one(record), lambda _, metadata, error: on_delivery(metadata, error))

    def send_batch(self, batch: ProducerBatch, on_delivery: BatchDeliveryCallback | None = None) -> None:
        """Accept records for delivery, waiting for room if necessary; commit or flush raises a later failure.

        All are accepted, or it raises: RetriableError if none was accepted, else the transaction must be aborted.
        Records that one thread sends to one partition keep their order. `on_delivery` is called for every record, which
        costs speed.
        """

    def send_offsets(self, offsets: Mapping[TopicPartition, int], group: ConsumerGroupMetadata, timeout: float) -> None:
        """Commit a consumer group's offsets (of the next records to read) with the transaction (KIP-98, KIP-447).

        An empty mapping does nothing. A member that the group does not know any more, or one of an older generation,
        raises AbortableError: the member that took over reads the same records.
        """

    def flush(self, timeout: float) -> None:
        """Wait until every accepted record was delivered; raise the first failure."""

    def commit_transaction(self, timeout: float) -> None:
        """Flush, then commit. After a timeout discard the producer: the commit may still take effect."""

    def abort_transaction(self, timeout: float) -> None:
        """Drop what was not sent and abort; the same producer may begin again."""

    def close(self, timeout: float = 0.0) -> None:
        """Close at once (0) or after delivering; an open transaction waits for its timeout or its next holder."""


class LogReader(Protocol):
    """Reads ranges of partitions, without a group and without committing (a Kafka `Consumer` with `assign`)."""

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch]:
        """Yield every visible record of the ranges, each partition in offset order; stop when all ends are reached.

        An end counts as reached by position, so trailing control records or aborted records do not stop the read.
        A start below the log start is a DamagedDataError, never a silent jump. When nothing advances for
        `stall_timeout` seconds, raise ReadStalledError naming the partition and offset that is waited for: at
        read_committed an open transaction below an end does that. One read at a time; may be called again.
        """

    def close(self) -> None:
        """Close; a read on another thread raises."""


@runtime_checkable
class ArrowLogReader(Protocol):
    """What a LogReader may offer besides, for those who make Arrow batches of all that they read."""

    def read_arrow(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch]:
        """Read as `read` does, in batches whose columns pyarrow takes as they are, without an object for each record.

        Keys and values are `pyarrow` arrays of bytes, offsets and timestamps memoryviews of 64-bit numbers; where
        a library for that is missing, they are what `read` yields.
        """


class Admin(TransactionAdmin, Protocol):
    """Describes and changes topics, groups and transactions (Kafka's `Admin`).

    Calls block at most as long as the timeout that the backend was made with.
    """

    def cluster_id(self) -> str | None:
        """The id of the cluster, whatever address was asked; None if the brokers do not tell."""

    def partitions(self, topics: Collection[str] | None = None) -> Mapping[str, int]:
        """How many partitions each existing topic has; topics that do not exist are left out. None means all."""

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        """Create topics and wait until their partitions can be written; raise TopicExistsError, ConfigError, ..."""

    def delete_topics(self, topics: Collection[str]) -> Mapping[str, EosfwError | None]:
        """Delete topics with their records; the outcome for each: None, or UnknownTopicOrPartitionError, ...

        A broker may go on deleting after its answer. Needs the capability `delete_topics`, else raises.
        """

    def delete_groups(self, group_ids: Collection[str]) -> Mapping[str, EosfwError | None]:
        """Delete consumer groups with their offsets; the outcome for each: None, or GroupIdNotFoundError, ...

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

    def offsets_for_times(
        self, times: Mapping[TopicPartition, int], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int | None]:
        """The first offset of each partition whose record is of that time (in ms since 1970) or later; None if none is.

        Kafka's ListOffsets by timestamp. Where the times of records are not in order, all records before the offset
        are older. At read_committed what lies behind the last stable offset does not count, so that None may become
        an offset when an open transaction ends; aborted records do count, as do control records with the time of the
        commit or abort, and a read from there on begins with the next committed record.
        """

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        """The id of each existing topic, as Kafka's tools write it (KIP-516); topics that do not exist are left out.

        A topic that was deleted and created again under its name has another id. A broker before Kafka 2.8 has no ids:
        then all are the same.
        """

    def open_transactions(self, partitions: Collection[TopicPartition]) -> Sequence[OpenTransaction]:
        """The transactions that hold back the last stable offset; needs the capability `describe_transactions`."""

    def group_offsets(self, group_id: str, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The committed offsets of a consumer group, once no open transaction can change them (KIP-447).

        Partitions without a committed offset are left out.
        """

    def describe_group(self, group_id: str) -> GroupDescription:
        """The state, the kind and the members of a group; one that is unknown is Dead, without members."""

    def close(self) -> None:
        """Close; calls on other threads raise."""


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
        """Make a producer with Java's partitioner; with a transactional id it is idempotent and has acks=all.

        `properties` have Kafka's names. ConfigError for one that cannot be translated or that contradicts idempotence
        (`eosfw.config.idempotence`), and for an empty transactional id. The framework has set the enforced ones.
        """

    def reader(
        self, isolation: IsolationLevel, *, headers: bool = False, properties: Mapping[str, str] | None = None
    ) -> LogReader:
        """Make a reader; with `headers` it also returns record headers."""

    def admin(self, properties: Mapping[str, str] | None = None) -> Admin:
        """Make an admin client."""

    def group_consumer(
        self,
        group_id: str,
        topic: str,
        *,
        client_id: str,
        session_timeout: float = 10.0,
        rebalance_timeout: float = 60.0,
        properties: Mapping[str, str] | None = None,
    ) -> GroupConsumer:
        """Make a member of a group whose members share the partitions of a topic by the cooperative-sticky assignor.

        The topic exists. `session_timeout` is how long the coordinator waits for a silent member, `rebalance_timeout`
        how long for a member to join again in a rebalance, not less. The administrator's view of the group shows the
        `client_id`. `heartbeat.interval.ms` is 3000 at most, a third of the session timeout, unless it is given.
        """

    def close(self) -> None:
        """Close the clients that this backend has made."""
