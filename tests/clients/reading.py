"""Read committed records, live or from the beginning, through plain confluent-kafka."""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, KafkaError, TopicPartition

WAIT = 60.0
IDLE = 0.2


def _consumer(servers: str, level: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "clients-readers",
            "enable.auto.commit": False,
            "isolation.level": level,
            "enable.partition.eof": True,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,  # that a broker goes away is part of these tests
        }
    )


def read_all(servers: str, topic: str, partitions: int = 1, level: str = "read_committed") -> list[list[bytes]]:
    """Every value from the beginning to the end as it is now, for each partition."""
    return [[value for _, value in one] for one in _read_all(servers, topic, partitions, level)]


def read_pairs(servers: str, topic: str) -> list[tuple[bytes | None, bytes]]:
    """Every committed key and value of the only partition."""
    return _read_all(servers, topic, 1, "read_committed")[0]


def _read_all(servers: str, topic: str, partitions: int, level: str) -> list[list[tuple[bytes | None, bytes]]]:
    consumer = _consumer(servers, level)
    found: list[list[tuple[bytes | None, bytes]]] = [[] for _ in range(partitions)]
    left = set(range(partitions))
    consumer.assign([TopicPartition(topic, number, 0) for number in left])
    deadline = time.monotonic() + WAIT
    try:
        while left:
            assert time.monotonic() < deadline, f"{topic}: no end of {left} in {WAIT:g} s"
            for message in consumer.consume(10_000, IDLE):
                if message.error() is None:
                    found[message.partition()].append((message.key(), message.value()))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
    finally:
        consumer.close()
    return found


class LiveReader:
    """A reader at read_committed that is there all the time, on a thread of its own."""

    def __init__(self, servers: str, topic: str, partitions: int = 1) -> None:
        self.servers, self.topic = servers, topic
        self.values: list[list[bytes]] = [[] for _ in range(partitions)]
        self._consumer = _consumer(servers, "read_committed")
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        self._grew = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="live reader")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None) -> None:
        self._stopping = True
        self._thread.join()
        self._consumer.close()

    @property
    def count(self) -> int:
        return sum(map(len, self.values))

    def wait_for(self, count: int, within: float = WAIT) -> bool:
        """Whether so many records were seen in time."""
        with self._grew:
            return self._grew.wait_for(lambda: self.count >= count, within)

    def _run(self) -> None:
        while not self._stopping:
            messages = [one for one in self._consumer.consume(1_000, IDLE / 4) if one.error() is None]
            with self._grew:
                for message in messages:
                    self.values[message.partition()].append(message.value())
                self._grew.notify_all()
