"""Which clients a worker makes, with which properties; who closes them."""

from __future__ import annotations

import logging

import pytest

from eosfw.runtime.status import TaskState
from eosfw.runtime.storage.global_offset_backing_store import GlobalOffsetBackingStore

from ..fake_cluster import FakeCluster, FakeProducer, Made
from ..worker_harness import WorkerHarness

LEADER = "connect-cluster-g"
COMMITTED, UNCOMMITTED = "reader at read_committed", "reader at read_uncommitted"


def clients(stage: WorkerHarness, kind: str) -> list[Made]:
    return [made for made in stage.cluster.made if made.kind == kind]


def test_connector_overrides_win_over_worker_properties_in_its_clients():
    """CFG-08: producer, the consumer of its offsets, admin."""
    worker = {"producer_linger_ms": "1", "consumer_fetch_min_bytes": "1", "admin_retries": "1"}
    own = {
        "producer_override_linger_ms": "2",
        "consumer_override_fetch_min_bytes": "2",
        "consumer_override_check_crcs": "true",
        "admin_override_retries": "2",
    }
    with WorkerHarness(**worker, consumer_max_poll_records="7") as stage:
        before = len(stage.cluster.made)
        stage.put("c", streams="1", until="3", **own)
        stage.until_drained()
    made = stage.cluster.made[before:]

    (producer,) = [one for one in made if one.transactional_id == "g-c-0"]
    (offsets,) = [one for one in made if one.kind == COMMITTED and "check.crcs" in one.properties]
    (admin,) = [one for one in made if one.kind == "admin" and one.properties]
    assert producer.properties["linger.ms"] == "2"
    assert offsets.properties == {"fetch.min.bytes": "2", "check.crcs": "true", "max.poll.records": "7"}
    assert admin.properties == {"retries": "2"}


def test_the_config_topic_is_read_with_the_consumer_properties_of_the_worker():
    """CFG-08: nothing of a connector's reaches it."""
    with WorkerHarness(consumer_fetch_min_bytes="3") as stage:
        stage.put("c", streams="1", until="3", consumer_override_fetch_min_bytes="4")
        stage.until_drained()

    first, *_ = clients(stage, COMMITTED)
    assert first.properties == {"fetch.min.bytes": "3"}


def test_replacing_a_users_property_is_logged_once(caplog):
    """CFG-07: with its value, its name, the reason; not once for each task."""
    with WorkerHarness() as stage:
        stage.put(
            "c",
            streams="3",
            tasks_max="3",
            until="3",
            producer_override_enable_idempotence="false",
            consumer_override_isolation_level="read_uncommitted",
        )
        stage.until_drained()

    message = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert [text.partition(" is replaced by ")[::2] for text in message] == [
        ("connector c: producer: enable.idempotence=false", "true: exactly-once needs it"),
        ("connector c: offsets consumer: isolation.level=read_uncommitted", "read_committed: exactly-once needs it"),
    ]
    assert "isolation.level" not in {name for made in stage.cluster.made for name in made.properties}


@pytest.mark.parametrize("text", ["read_uncommitted", "READ_COMMITTED"])
def test_the_config_topic_is_always_read_at_read_committed(caplog, text):
    """LDR-05: the comparison is case-sensitive, as Kafka's is."""
    with WorkerHarness(consumer_isolation_level=text) as stage:
        readers = [made for made in stage.cluster.made if made.kind.startswith("reader")]

    assert {made.kind for made in readers} == {COMMITTED}
    assert all("isolation.level" not in made.properties for made in readers)
    assert f"config topic's consumer: isolation.level={text} is replaced by read_committed" in caplog.text


@pytest.mark.parametrize("support", ["preparing", "disabled"])
def test_users_choose_the_config_topics_isolation_unless_exactly_once_is_enabled(caplog, support):
    """LDR-05: enforced only when `enabled`."""
    with WorkerHarness(exactly_once_source_support=support, consumer_isolation_level="read_uncommitted") as stage:
        (reader, *_) = clients(stage, UNCOMMITTED)

    assert reader.properties == {"isolation.level": "read_uncommitted"}
    assert "replaced" not in caplog.text


def test_a_leader_that_is_preparing_writes_with_all_acknowledgements(caplog):
    """LDR-01: its producer's `acks` cannot be lowered, though a task's may be."""
    with WorkerHarness(exactly_once_source_support="preparing", producer_acks="1") as stage:
        stage.put("c", streams="1", until="3")
        stage.until_drained()
    leader, task = clients(stage, "producer")

    assert (leader.transactional_id, leader.properties.get("acks", "all")) == (LEADER, "all")
    assert task.properties["acks"] == "1"
    assert "leader's producer: acks=1 is replaced by all" in caplog.text


@pytest.mark.parametrize("fails", [False, True])
def test_zombies_are_fenced_with_the_connectors_admin_overrides(fails):
    """FEN-06: with its admin overrides; closed afterwards, also when it could not fence."""
    cluster = FakeCluster()
    with WorkerHarness(cluster=cluster, admin_retries="1", admin_client_id="worker") as stage:
        stage.put("c", streams="2", tasks_max="2", until="3")
        stage.until_drained()
        assert clients(stage, "fencer") == []
        if fails:
            cluster.fail["fence g-c-0 g-c-1"] = [PermissionError("not allowed")] * 2
        stage.put("c", streams="2", tasks_max="2", until="5", admin_override_client_id="mine")
        stage.until_drained() if not fails else stage.until_ended()
        tasks = stage.worker.status().tasks

    assert {task.state is TaskState.FAILED for task in tasks} == {fails}
    fencers = clients(stage, "fencer")
    assert {tuple(sorted(made.properties.items())) for made in fencers} == {(("client.id", "mine"), ("retries", "1"))}
    assert all(made.closed for made in fencers)


def test_clients_are_closed_also_behind_a_step_of_the_stop_that_fails(monkeypatch):
    """TXN-11: what stays open would keep its connections, and its place in a group, until the process ends."""

    def fail(*_):
        raise OSError("no answer")

    closed = []
    monkeypatch.setattr(FakeProducer, "close", lambda producer, _=0: closed.append(producer.transactional_id))
    monkeypatch.setattr(GlobalOffsetBackingStore, "close", fail)
    stage = WorkerHarness()
    stage.worker.start()

    with pytest.raises(OSError, match="no answer"):
        stage.worker.stop(2.0)

    assert closed == [LEADER]
