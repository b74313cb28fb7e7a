"""A cluster of a hundred lines: logs, transactional ids, epochs, fencing; every call of a producer is written down."""

from __future__ import annotations

import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from eosfw.capabilities import Capabilities
from eosfw.config.translation import Client
from eosfw.errors import (
    EosfwError,
    IllegalStateError,
    Problem,
    ProducerFencedError,
    ReadStalledError,
    TopicExistsError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import BatchDeliveryCallback, GroupDescription, IsolationLevel, NewTopic, TransactionalProducer
from eosfw.records import LogBatch, OffsetRange, ProducerBatch, ProducerRecord, RecordMetadata

CAPABILITIES = Capabilities(transactions=True, read_committed=True)


@dataclass(eq=False)
class Txn:
    open: bool = True
    aborted: bool = False


@dataclass
class Entry:
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    txn: Txn | None


@dataclass
class Made:
    """A client: its kind, its transactional id if it has one, its properties, whether it was closed."""

    kind: str
    transactional_id: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    closed: bool = False


@dataclass
class FakeCluster:
    logs: dict[TopicPartition, list[Entry]] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    open: dict[str, Txn] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    fail: dict[str, list[Exception | Callable[[], None]]] = field(default_factory=dict)
    """What the next calls of a name meet: an exception to raise, or something to do first."""
    topic_configs: dict[str, Mapping[str, str]] = field(default_factory=dict)
    before: Callable[[str, str | None], None] = lambda *_: None
    capabilities: Capabilities = CAPABILITIES
    readers: list[IsolationLevel] = field(default_factory=list)
    """The isolation of each reader that was made."""
    reads: list[Mapping[TopicPartition, OffsetRange]] = field(default_factory=list)
    """What readers were asked for."""
    created: list[NewTopic] = field(default_factory=list)
    """What clients asked to create."""
    made: list[Made] = field(default_factory=list)
    """Every client that was made, in order."""
    lock: AbstractContextManager[object] = field(default_factory=threading.RLock)
    """Held from a check of an epoch or a topic to the change that it allows: tasks have threads of their own."""

    def called(self, call: str, transactional_id: str | None = None) -> None:
        self.before(call, transactional_id)
        if not (transactional_id or "").startswith("connect-cluster-"):
            self.calls.append(call)
            for trouble in [self.fail[call].pop(0)] if self.fail.get(call) else []:
                if isinstance(trouble, Exception):
                    raise trouble
                trouble()

    def fence(self, transactional_id: str) -> int:
        with self.lock:
            txn = self.open.pop(transactional_id, None)
            if txn is not None:
                txn.open, txn.aborted = False, True
            self.epochs[transactional_id] = self.epochs.get(transactional_id, -1) + 1
            return self.epochs[transactional_id]

    def append(self, topic: str, partition: int | None, entry: Entry) -> RecordMetadata:
        if partition is None:
            count = sum(1 for one in tuple(self.logs) if one.topic == topic)
            partition = zlib.crc32(entry.key or b"") % count
        log = self.logs[TopicPartition(topic, partition)]
        log.append(entry)
        return RecordMetadata(topic, partition, len(log) - 1)

    def committed(self, topic: str) -> list[bytes | None]:
        return [
            entry.value
            for partition, log in sorted(self.logs.items())
            if partition.topic == topic
            for entry in log
            if entry.txn is None or not (entry.txn.open or entry.txn.aborted)
        ]


class FakeProducer(TransactionalProducer):
    def __init__(self, cluster: FakeCluster, transactional_id: str | None) -> None:
        self.cluster, self.transactional_id = cluster, transactional_id
        self.epoch: int | None = None
        self.txn: Txn | None = None
        self.closed = False

    def init_transactions(self, timeout: float) -> None:
        self.cluster.called("init", self.transactional_id)
        self.epoch = self.cluster.fence(self.transactional_id)

    def begin_transaction(self) -> None:
        self.cluster.called("begin", self.transactional_id)
        self._check()
        self.txn = Txn()

    def _append(self, record: ProducerRecord) -> RecordMetadata:
        with self.cluster.lock:
            self._check()
            if self.transactional_id is not None:
                if self.txn is None:
                    raise IllegalStateError("no transaction is open")
                self.cluster.open[self.transactional_id] = self.txn
            entry = Entry(record.key, record.value, record.headers, self.txn)
            return self.cluster.append(record.topic, record.partition, entry)

    def send_batch(self, batch: ProducerBatch, on_delivery: BatchDeliveryCallback | None = None) -> None:
        size = "" if len(batch) == 1 else f" {len(batch)}"
        self.cluster.called(f"send {batch.topic}{size}", self.transactional_id)
        for at, record in enumerate(batch.records()):
            metadata = self._append(record)
            if on_delivery is not None:
                on_delivery(at, metadata, None)

    def flush(self, timeout: float) -> None:
        self.cluster.called("flush", self.transactional_id)

    def commit_transaction(self, timeout: float) -> None:
        self.cluster.called("commit", self.transactional_id)
        self._end(aborted=False)

    def abort_transaction(self, timeout: float) -> None:
        self.cluster.called("abort", self.transactional_id)
        self._end(aborted=True)

    def _end(self, *, aborted: bool) -> None:
        with self.cluster.lock:
            self._check()
            if self.txn is None:
                raise IllegalStateError("no transaction is open")
            self.txn.open, self.txn.aborted = False, aborted
            self.cluster.open.pop(self.transactional_id, None)
            self.txn = None

    def _check(self) -> None:
        if self.closed:
            raise IllegalStateError("the producer is closed")
        if self.transactional_id is not None and self.cluster.epochs.get(self.transactional_id) != self.epoch:
            raise ProducerFencedError(f"{self.transactional_id} was fenced")

    def close(self, timeout: float = 0.0) -> None:
        if not self.closed:
            self.closed = True
            self.cluster.called("close", self.transactional_id)


class FakeReader:
    def __init__(self, cluster: FakeCluster, isolation: IsolationLevel, *, headers: bool) -> None:
        self.cluster, self.committed, self.headers = cluster, isolation is IsolationLevel.READ_COMMITTED, headers

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch]:
        """Wait for open transactions, as readers of real clients do: tasks commit while others still start."""
        self.cluster.reads.append(dict(ranges))
        deadline = time.monotonic() + stall_timeout
        for partition, wanted in ranges.items():
            entries = list(enumerate(self.cluster.logs[partition]))[wanted.start : wanted.end]
            while self.committed and any(entry.txn and entry.txn.open for _, entry in entries):
                if time.monotonic() > deadline:
                    raise ReadStalledError(f"{partition} waits for an open transaction")
                time.sleep(0.002)
            shown = [(o, e) for o, e in entries if not (self.committed and e.txn and e.txn.aborted)]
            yield LogBatch(
                *partition,
                [offset for offset, _ in shown],
                [entry.key for _, entry in shown],
                [entry.value for _, entry in shown],
                [0] * len(shown),
                [entry.headers for _, entry in shown] if self.headers else None,
            )

    def close(self) -> None:
        pass


class FakeAdmin:
    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster

    def cluster_id(self) -> str | None:
        return "fake"

    def partitions(self, topics: Collection[str] | None = None) -> Mapping[str, int]:
        # A copy at once: tasks on other threads create topics meanwhile.
        counts = Counter(one.topic for one in tuple(self.cluster.logs))
        return {name: count for name, count in counts.items() if topics is None or name in topics}

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        return {name: f"id of {name}" for name in self.partitions(topics)}

    def create_topics(self, topics: Sequence[NewTopic]) -> None:
        for topic in topics:
            self.cluster.created.append(topic)
            failures = self.cluster.fail.get(f"create {topic.name}")
            for trouble in [failures.pop(0)] if failures else []:
                if isinstance(trouble, Exception):
                    raise trouble
                trouble()
            with self.cluster.lock:
                if topic.name in self.partitions():
                    raise TopicExistsError(topic.name)
                for number in range(1 if topic.partitions == -1 else topic.partitions):
                    self.cluster.logs[TopicPartition(topic.name, number)] = []

    def topic_config(self, topic: str) -> Mapping[str, str]:
        self.cluster.called(f"topic_config {topic}", "connect-cluster-")
        return self.cluster.topic_configs.get(topic, {"cleanup.policy": "compact"})

    def log_start_offsets(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    def end_offsets(
        self, partitions: Collection[TopicPartition], isolation: IsolationLevel
    ) -> Mapping[TopicPartition, int]:
        return {one: len(self.cluster.logs[one]) for one in partitions}

    def describe_group(self, group_id: str) -> GroupDescription:
        return GroupDescription(group_id, "Dead")

    def max_transaction_timeout(self) -> float | None:
        return 900.0

    def close(self) -> None:
        pass


class FakeBackend:
    name: ClassVar[str] = "fake"

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster, self.capabilities = cluster, cluster.capabilities

    @classmethod
    def problems(cls, properties: Mapping[str, str], client: Client) -> list[Problem]:
        return [Problem(name, f"the fake backend does not know {name}") for name in properties if name == "unheard.of"]

    def producer(
        self, transactional_id: str | None, properties: Mapping[str, str] | None = None, **_: Any
    ) -> FakeProducer:
        self.cluster.made.append(Made("producer", transactional_id, properties or {}))
        return FakeProducer(self.cluster, transactional_id)

    def reader(
        self, isolation: IsolationLevel, *, headers: bool = False, properties: Mapping[str, str] | None = None
    ) -> FakeReader:
        self.cluster.readers.append(isolation)
        self.cluster.made.append(Made(f"reader at {isolation.value}", None, properties or {}))
        return FakeReader(self.cluster, isolation, headers=headers)

    def admin(self, properties: Mapping[str, str] | None = None) -> FakeAdmin:
        self.cluster.made.append(Made("admin", None, properties or {}))
        return FakeAdmin(self.cluster)

    def close(self) -> None:
        pass


class FakeFencer:
    name: ClassVar[str] = "fake"

    def __init__(self, cluster: FakeCluster, made: Made) -> None:
        self.cluster, self.made = cluster, made
        cluster.made.append(made)

    @classmethod
    def connect(cls, backend: FakeBackend, properties: Mapping[str, str], runtime: Any) -> FakeFencer:
        return cls(backend.cluster, Made("fencer", None, properties))

    def fence(self, transactional_ids: Collection[str], timeout: float) -> Mapping[str, EosfwError | None]:
        self.cluster.called(f"fence {' '.join(transactional_ids)}")
        for one in transactional_ids:
            self.cluster.fence(one)
        return dict.fromkeys(transactional_ids)

    def close(self) -> None:
        self.made.closed = True
