"""Write topics whose every record is known, through plain confluent-kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from confluent_kafka import Producer
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from broker.ready_topics import create, wait_until_decided
from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.records import OffsetRange
from eosfw.registry import load_plugins

WAIT = 30.0


class Histories:
    """Creates topics on one cluster; remembers its producers to close them."""

    def __init__(self, servers: str, fresh: Callable[[str], str]) -> None:
        self.servers = servers
        self._fresh = fresh
        # Transactions stay open behind the end of their broker, and librdkafka prints each attempt to find it again.
        self._properties = {"bootstrap.servers": servers, "log_level": 0}
        self._admin = AdminClient(self._properties)
        self._open: list[Producer] = []

    def topic(self, partitions: int = 1) -> str:
        name = self._fresh("topic")
        self.create(name, partitions)
        return name

    def create(self, name: str, partitions: int = 1) -> None:
        create(self._admin, self.servers, NewTopic(name, partitions, 1))

    def add_partitions(self, topic: str, count: int) -> None:
        self._admin.create_partitions([NewPartitions(topic, count)])[topic].result(WAIT)

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(WAIT)

    def create_again(self, topic: str, *values: bytes) -> None:
        """Delete a topic, create it under its name, write."""
        self.delete(topic)
        self.create(topic)
        if values:
            self.commit(topic, values)

    def delete_before(self, topic: str, offset: int) -> None:
        [deleted] = self._admin.delete_records([KafkaPartition(topic, 0, offset)]).values()
        assert deleted.result(WAIT).low_watermark == offset

    def commit(self, topic: str, values: Iterable[bytes | None], **record: object) -> None:
        self._within(topic, values, record).commit_transaction(WAIT)
        self._until_decided(topic)

    def abort(self, topic: str, values: Iterable[bytes | None], **record: object) -> None:
        self._within(topic, values, record).abort_transaction(WAIT)
        self._until_decided(topic)

    def leave_open(self, topic: str, values: Iterable[bytes | None], **record: object) -> Producer:
        return self._within(topic, values, record)

    def _within(self, topic: str, values: Iterable[bytes | None], record: dict[str, object]) -> Producer:
        producer = Producer(self._properties | {"transactional.id": self._fresh("id")})
        self._open.append(producer)
        producer.init_transactions(WAIT)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, **{"partition": 0, **record})
        producer.flush(WAIT)
        return producer

    def _until_decided(self, topic: str) -> None:
        partitions = self._admin.list_topics(topic, WAIT).topics[topic].partitions
        wait_until_decided(self.servers, topic, len(partitions))

    def close(self) -> None:
        for producer in self._open:
            producer.purge()
        self._open.clear()

    def bounds(self, *topics: str) -> dict[TopicPartition, OffsetRange]:
        """What is committed now, as a pipeline takes it before its steps."""
        backend = load_plugins().backend("confluent").connect({"bootstrap.servers": self.servers}, ThreadRuntime())
        admin = backend.admin()
        counts = admin.partitions(topics)
        partitions = [TopicPartition(topic, number) for topic in topics for number in range(counts[topic])]
        starts = admin.log_start_offsets(partitions)
        ends = admin.end_offsets(partitions, IsolationLevel.READ_COMMITTED)
        backend.close()
        return {one: OffsetRange(starts[one], ends[one]) for one in partitions}
