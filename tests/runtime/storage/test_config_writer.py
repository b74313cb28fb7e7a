"""A write to the config topic is known to its writer when it returns, in bounded time (LOG-07)."""

from __future__ import annotations

from typing import Any

import pytest

from clocks import StoppedClock
from eosfw.config.clients import ProducerSettings
from eosfw.errors import ClusterUnavailableError, PrivilegedWriteError, RecordTooLargeError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.runtime.storage.config_topic import ConfigTopic
from eosfw.runtime.storage.config_writer import ConfigWriter

from ..fake_cluster import FakeBackend, FakeCluster, FakeProducer, FakeReader

CONNECTOR = (b"connector-c", b'{"properties":{"name":"c"}}')
COMMIT = [CONNECTOR, (b"task-c-0", b'{"properties":{}}'), (b"commit-c", b'{"tasks":1}')]


def writing(cluster: FakeCluster, backend: FakeBackend, clock: StoppedClock) -> tuple[ConfigTopic, ConfigWriter]:
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
def clock() -> StoppedClock:
    return StoppedClock()


def test_a_write_returns_after_it_was_read_back(clock: StoppedClock) -> None:
    """LOG-07: acknowledged, then read to the end."""
    cluster = FakeCluster()
    topic, writer = writing(cluster, FakeBackend(cluster), clock)

    writer.write(COMMIT)

    assert topic.entry("c").generation == 0
    assert topic.position == 3


def test_acknowledgement_and_reading_share_thirty_seconds(clock: StoppedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """LOG-07: 30 s overall, not for each."""
    cluster, given = FakeCluster(), []
    _, writer = writing(cluster, FakeBackend(cluster), clock)
    commit, read = FakeProducer.commit_transaction, FakeReader.read

    def slow_commit(producer: FakeProducer, timeout: float) -> None:
        given.append(timeout)
        clock.at += 12.0
        commit(producer, timeout)

    def noted_read(reader: FakeReader, ranges: Any, stall_timeout: float) -> Any:
        given.append(stall_timeout)
        return read(reader, ranges, stall_timeout)

    monkeypatch.setattr(FakeProducer, "commit_transaction", slow_commit)
    monkeypatch.setattr(FakeReader, "read", noted_read)
    writer.write(COMMIT)

    assert given == [30.0, 18.0]


@pytest.mark.parametrize("call", ["commit", "read"])
def test_a_write_that_cannot_be_acknowledged_or_read_back_costs_the_privilege(
    clock: StoppedClock, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LOG-07, LDR-03."""
    cluster = FakeCluster()
    _, writer = writing(cluster, FakeBackend(cluster), clock)

    def fail(*_: Any) -> None:
        raise ClusterUnavailableError("nobody answers")

    monkeypatch.setattr(*((FakeProducer, "commit_transaction") if call == "commit" else (FakeReader, "read")), fail)

    with pytest.raises(PrivilegedWriteError, match="config topic configs: nobody answers"):
        writer.write(COMMIT)
    with pytest.raises(PrivilegedWriteError, match="claim leadership first"):
        writer.write(COMMIT)


@pytest.mark.parametrize("call", ["send_batch", "commit_transaction"])
def test_a_record_that_is_too_large_is_refused_and_costs_no_privilege(
    clock: StoppedClock, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LDR-03: who wrote it knows at once that nothing was written, and the next write needs no claim."""
    cluster = FakeCluster()
    topic, writer = writing(cluster, FakeBackend(cluster), clock)

    def refuse(*_: Any) -> None:
        raise RecordTooLargeError("a record takes 2000 bytes; max.request.size is 1000")

    with monkeypatch.context() as patch:
        patch.setattr(FakeProducer, call, refuse)
        with pytest.raises(RecordTooLargeError, match=r"nothing was written to topic configs .* 2000 bytes"):
            writer.write(COMMIT)
    assert topic.entry("c").properties is None

    writer.write(COMMIT)

    assert topic.entry("c").generation == 0
    assert cluster.epochs == {"connect-cluster-g": 0}
