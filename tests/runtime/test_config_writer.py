"""A write to the config topic is known to its writer when it returns, in bounded time (LOG-07)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.config.clients import ProducerSettings
from eosfw.errors import PrivilegedWriteError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.runtime.storage.config_topic import ConfigTopic
from eosfw.runtime.storage.config_writer import ConfigWriter

from .fake_cluster import FakeBackend, FakeCluster, FakeProducer, FakeReader

CONNECTOR = (b"connector-c", b'{"properties":{"name":"c"}}')
COMMIT = [CONNECTOR, (b"task-c-0", b'{"properties":{}}'), (b"commit-c", b'{"tasks":1}')]


class Clock(ThreadRuntime):
    """A clock that the test advances."""

    time = 0.0

    def now(self) -> float:
        return self.time


class SlowProducer(FakeProducer):
    clock: Clock
    given: list[float]

    def commit_transaction(self, timeout: float) -> None:
        self.given.append(timeout)
        self.clock.time += 12.0
        super().commit_transaction(timeout)


class NotingReader(FakeReader):
    given: list[float]

    def read(self, ranges: Any, stall_timeout: float) -> Any:
        self.given.append(stall_timeout)
        return super().read(ranges, stall_timeout)


class SlowBackend(FakeBackend):
    def __init__(self, cluster: FakeCluster, clock: Clock) -> None:
        super().__init__(cluster)
        self.clock, self.given = clock, []

    def producer(self, transactional_id: str | None, **_: Any) -> FakeProducer:
        producer = SlowProducer(self.cluster, transactional_id)
        producer.clock, producer.given = self.clock, self.given
        return producer

    def reader(self, isolation: IsolationLevel, *, headers: bool = False, **_: Any) -> FakeReader:
        reader = NotingReader(self.cluster, isolation, headers=headers)
        reader.given = self.given
        return reader


def writing(cluster: FakeCluster, backend: FakeBackend, clock: Clock) -> tuple[ConfigTopic, ConfigWriter]:
    cluster.logs[TopicPartition("configs", 0)] = []
    topic = ConfigTopic(backend, "configs", IsolationLevel.READ_COMMITTED, clock)  # type: ignore[arg-type]
    writer = ConfigWriter(
        backend,  # type: ignore[arg-type]
        topic,
        clock,
        group_id="g",
        worker="w",
        settings=ProducerSettings({}),
    )
    writer.claim()
    return topic, writer


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_write_returns_after_it_was_read_back(clock: Clock) -> None:
    """LOG-07: acknowledged, then read to the end."""
    cluster = FakeCluster()
    topic, writer = writing(cluster, FakeBackend(cluster), clock)

    writer.write(COMMIT)

    assert topic.entry("c").generation == 0
    assert topic.position == 3


def test_acknowledgement_and_reading_share_thirty_seconds(clock: Clock) -> None:
    """LOG-07: 30 s overall, not for each."""
    cluster = FakeCluster()
    backend = SlowBackend(cluster, clock)
    _, writer = writing(cluster, backend, clock)

    writer.write(COMMIT)

    assert backend.given == [30.0, 18.0]


@pytest.mark.parametrize("call", ["commit", "read"])
def test_a_write_that_cannot_be_acknowledged_or_read_back_costs_the_privilege(
    clock: Clock, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LOG-07, LDR-03."""
    cluster = FakeCluster()
    _, writer = writing(cluster, FakeBackend(cluster), clock)
    where: Callable[..., Any] = {"commit": FakeProducer.commit_transaction, "read": FakeReader.read}[call]

    def fail(*_: Any) -> None:
        from eosfw.errors import ClusterUnavailableError

        raise ClusterUnavailableError("nobody answers")

    owner = FakeProducer if call == "commit" else FakeReader
    monkeypatch.setattr(owner, where.__name__, fail)

    with pytest.raises(PrivilegedWriteError, match="config topic configs: nobody answers"):
        writer.write(COMMIT)
    with pytest.raises(Exception, match="claim leadership first"):
        writer.write(COMMIT)
