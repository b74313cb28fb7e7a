"""Topics are created before the first record for them is sent, once, as a connector's groups say (KIP-158)."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import pytest

from eosfw.errors import (
    ClusterAuthorizationError,
    ClusterUnavailableError,
    IndefiniteOutcomeError,
    TopicAuthorizationError,
    TopicExistsError,
    UnsupportedError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import NewTopic
from eosfw.runtime.tasks import task as worker_task

from ..fake_cluster import FakeAdmin, FakeCluster
from ..scripted_task import OFFSETS, batch, failure, record, run, scripted


def made(cluster: FakeCluster) -> list[NewTopic]:
    """What was asked to be created for records."""
    return [topic for topic in cluster.created if not topic.name.startswith("g-")]


def test_each_topic_is_created_before_its_first_record_by_the_group_that_fits() -> None:
    """TPC-01: a topic that is named later, too, and none twice, however many polls there are."""
    script = [batch(0, topic="t"), batch(2, topic="log"), batch(4, topic="t"), [record(6, topic="log")]]
    stage = run(
        scripted(*script),
        **{
            "topic.creation.groups": "logs",
            "topic.creation.logs.include": "log.*",
            "topic.creation.logs.cleanup.policy": "compact",
            "topic.creation.logs.partitions": "2",
            "topic.creation.default.replication.factor": "1",
        },
    )

    assert made(stage.cluster) == [NewTopic("t", -1, 1), NewTopic("log", 2, 1, {"cleanup.policy": "compact"})]


def test_a_topic_that_a_transformation_names_is_created_by_its_group() -> None:
    """TPC-01: the name counts with which the record is sent."""
    stage = run(
        scripted(batch(0)),
        **{
            "transforms": "route",
            "transforms.route.type": "RegexRouter",
            "transforms.route.regex": "t",
            "transforms.route.replacement": "moved",
            "topic.creation.groups": "g",
            "topic.creation.g.include": "moved",
            "topic.creation.g.partitions": "3",
        },
    )

    assert made(stage.cluster) == [NewTopic("moved", 3, -1)]


def test_no_topic_is_looked_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """TPC-01: neither per record nor per poll."""
    looks: list[str] = []
    partitions = FakeAdmin.partitions

    def counted(self: FakeAdmin, topics: list[str] | None = None) -> Mapping[str, int]:
        looks.extend(topics or ())
        return partitions(self, topics)

    monkeypatch.setattr(FakeAdmin, "partitions", counted)
    run(scripted(*(batch(number) for number in range(20))))

    assert looks.count("t") == 1


def test_a_topic_that_somebody_else_creates_meanwhile_is_no_error() -> None:
    """TPC-05."""
    cluster = FakeCluster()

    def faster() -> None:
        cluster.logs[TopicPartition("t", 0)] = []
        raise TopicExistsError("t")

    cluster.fail["create t"] = [faster]
    stage = run(scripted(batch(0)), cluster)

    assert stage.cluster.committed("t") == [b"0", b"1"]


@pytest.mark.parametrize("error", [ClusterUnavailableError("gone"), IndefiniteOutcomeError("no answer")])
def test_a_creation_that_fails_for_a_passing_reason_is_repeated_before_the_transaction(error: Exception) -> None:
    """TPC-05, TXN-09."""
    cluster = FakeCluster()
    cluster.fail["create t"] = [error]
    stage = run(scripted(batch(0)), cluster)

    assert stage.cluster.calls == ["init", "begin", "send t 2", OFFSETS, "commit", "close"]
    assert len(made(stage.cluster)) == 2


def test_a_creation_that_takes_too_long_starts_the_task_again(monkeypatch, caplog) -> None:
    """TPC-05: after `transaction.timeout.ms`, with Kafka Connect's text; by then the cluster may be back."""
    monkeypatch.setattr(worker_task, "FIRST_RETRY", 0.01)
    cluster = FakeCluster()
    cluster.fail["create t"] = [ClusterUnavailableError("gone")] * 6

    run(scripted(batch(0)), cluster, producer_override_transaction_timeout_ms="300")

    text = "Timed out while checking for or creating topic(s) 't'. This could indicate a connectivity"
    assert f"task c-0: the task starts again after 0.01 s: {text}" in caplog.text
    assert cluster.committed("t") == [b"0", b"1"]


@pytest.mark.parametrize(
    "error", [TopicAuthorizationError("no"), ClusterAuthorizationError("no"), UnsupportedError("too old")]
)
def test_a_task_that_may_not_create_its_topic_fails_with_kafka_connects_text(error: Exception) -> None:
    """TPC-05: no transaction was begun."""
    cluster = FakeCluster()
    cluster.fail["create t"] = [error]

    text = failure(run(scripted(batch(0)), cluster))

    assert text == (
        "Task failed to create new topic (name=t, numPartitions=-1, replicationFactor=-1, configs={}). Ensure that "
        f"the task is authorized to create topics or that the topic exists and restart the task: {error}"
    )
    assert "begin" not in cluster.calls


def test_the_log_says_by_which_group_a_topic_was_created(caplog: pytest.LogCaptureFixture) -> None:
    """TPC-01."""
    with caplog.at_level(logging.INFO, "eosfw.runtime.storage.topic_creation"):
        run(scripted(batch(0)))

    assert "topic t exists, or was created by the topic creation group 'default'" in caplog.text
