"""Topics, producers and readers for one test on any backend."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from eosfw.concurrency import Runtime, Spawned
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, IsolationLevel, LogReader, NewTopic, TransactionalProducer
from eosfw.records import OffsetRange, ProducerBatch, ProducerRecord

if TYPE_CHECKING:
    from pytest_eos.environment.clusters.cleanup import CreatedResources

T = TypeVar("T")
WAIT = 30.0
"""Seconds; far longer than any call here takes."""
COMMITTED = IsolationLevel.READ_COMMITTED
UNCOMMITTED = IsolationLevel.READ_UNCOMMITTED


class Row(NamedTuple):
    """One record as a reader sees it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class BackendHarness:
    """Creates topics and clients with unique names, because other tests may use the same cluster."""

    def __init__(self, backend: Backend, runtime: Runtime, created: CreatedResources | None = None) -> None:
        self.backend = backend
        self.runtime = runtime
        self.admin = backend.admin()
        self._name = f"t{uuid.uuid4().hex[:10]}"
        self._made = 0
        self._created = created
        if created is not None:
            created.prefixes.add(f"{self._name}-")
        self._readers: dict[IsolationLevel, LogReader] = {}

    def name(self) -> str:
        """A fresh name, for a topic or a transactional id."""
        self._made += 1
        return f"{self._name}-{self._made}"

    def group(self) -> str:
        """A fresh name for a consumer group."""
        name = self.name()
        if self._created is not None:
            self._created.groups.add(name)
        return name

    def topic(self, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        """A new, empty topic."""
        name = self.name()
        self.admin.create_topics([NewTopic(name, partitions, config=config or {})])
        return name

    def offsets_topic(self) -> str:
        """A new, empty, compacted topic with the name of an offsets topic."""
        name = f"{self.name()}-offsets"
        self.admin.create_topics([NewTopic(name, config={"cleanup.policy": "compact"})])
        return name

    def producer(
        self,
        transactional_id: str | None = None,
        *,
        timeout: float = 60.0,
        properties: Mapping[str, str] | None = None,
    ) -> TransactionalProducer:
        """A producer that is ready to begin."""
        own = transactional_id or self.name()
        if self._created is not None:
            self._created.transactional_ids.add(own)
        producer = self.backend.producer(own, transaction_timeout=timeout, properties=properties)
        producer.init_transactions(WAIT)
        return producer

    def write(self, topic: str, *values: bytes, partition: int = 0) -> None:
        """Write records outside any transaction."""
        producer = self.backend.producer(None)
        producer.send_batch(ProducerBatch(topic, values, partition=partition))
        producer.flush(WAIT)
        producer.close()

    def open_transaction(
        self, topic: str, *values: bytes, transactional_id: str | None = None, timeout: float = 60.0
    ) -> TransactionalProducer:
        """A producer with an open transaction whose records are in partition 0."""
        producer = self.producer(transactional_id, timeout=timeout)
        producer.begin_transaction()
        producer.send_batch(ProducerBatch(topic, values, partition=0))
        producer.flush(WAIT)
        return producer

    def end(self, topic: str, isolation: IsolationLevel, partition: int = 0) -> int:
        """The end offset of a partition at an isolation level."""
        one = TopicPartition(topic, partition)
        return self.admin.end_offsets([one], isolation)[one]

    def await_end(self, topic: str, end: int) -> None:
        """Wait until every control record below an offset of partition 0 is written."""
        self.read({TopicPartition(topic, 0): OffsetRange(0, end)})

    def ranges(self, topic: str, until: IsolationLevel) -> dict[TopicPartition, OffsetRange]:
        """The ranges of a topic that are readable now at an isolation level."""
        ones = [TopicPartition(topic, number) for number in range(self.admin.partitions([topic])[topic])]
        return {one: OffsetRange(0, end) for one, end in self.admin.end_offsets(ones, until).items()}

    def read(
        self,
        ranges: Mapping[TopicPartition, OffsetRange],
        isolation: IsolationLevel = COMMITTED,
        stall_timeout: float = WAIT,
    ) -> list[Row]:
        """The records of some ranges, by partition and offset."""
        rows: list[Row] = []
        for batch in self.reader(isolation).read(ranges, stall_timeout):
            columns = zip(batch.offsets, batch.keys, batch.values, strict=True)
            rows += [Row(batch.partition, *column) for column in columns]
        return sorted(rows)

    def visible(self, topic: str) -> list[bytes | None]:
        """The committed values that are visible now; does not wait for open transactions."""
        return [row.value for row in self.read(self.ranges(topic, COMMITTED))]

    def values(self, topic: str, isolation: IsolationLevel = COMMITTED) -> list[bytes | None]:
        """The values written so far; waits until each of their transactions has ended.

        Kafka answers a commit before it writes the control records (COR-09), so a read at once could be too early.
        """
        return [row.value for row in self.rows(topic, isolation)]

    def rows(self, topic: str, isolation: IsolationLevel = COMMITTED) -> list[Row]:
        """The records written so far, with their places; waits as `values` does."""
        return self.read(self.ranges(topic, UNCOMMITTED), isolation)

    def reader(self, isolation: IsolationLevel) -> LogReader:
        """The reader of an isolation level; it is created once."""
        if isolation not in self._readers:
            self._readers[isolation] = self.backend.reader(isolation)
        return self._readers[isolation]

    def together(self, *calls: Callable[[], object]) -> None:
        """Run calls in parallel; raise the first error."""
        errors: list[BaseException] = []

        def guarded(call: Callable[[], object]) -> Callable[[], None]:
            def run() -> None:
                try:
                    call()
                except BaseException as why:  # noqa: BLE001 - raised again below
                    errors.append(why)

            return run

        running: Sequence[Spawned] = [self.runtime.spawn(f"side-{n}", guarded(c)) for n, c in enumerate(calls)]
        if not all(one.join(WAIT) for one in running):
            raise TimeoutError("a call did not end")
        if errors:
            raise errors[0]

    def until(self, look: Callable[[], T], there: Callable[[T], bool]) -> T:
        """Repeat `look` until `there` accepts its result, and return that.

        A coordinator answers before it writes its markers (COR-09), a broker before a topic is deleted everywhere.
        """
        deadline = self.runtime.now() + WAIT
        while not there(seen := look()):
            if self.runtime.now() > deadline:
                import pytest  # loaded by whoever fails: processes beside a test need none of it

                pytest.fail(f"it stayed {seen!r}")
            self.runtime.sleep(0.01)
        return seen

    def close(self) -> None:
        self.backend.close()


def record(topic: str, value: bytes, partition: int | None = 0, key: bytes | None = None) -> ProducerRecord:
    """A record, for partition 0 by default."""
    return ProducerRecord(topic, value, key, partition)


def commit(producer: TransactionalProducer, topic: str, value: bytes, key: bytes | None = None) -> None:
    """Write one record to partition 0 in a transaction of its own."""
    producer.begin_transaction()
    producer.send(record(topic, value, key=key))
    producer.commit_transaction(WAIT)
