"""What a worker does for its whole group, one connector beside another."""

from __future__ import annotations

import json
import logging
import threading

import pytest

from eosfw.errors import ConfigError, TopicAuthorizationError
from eosfw.ids import TopicPartition
from eosfw.runtime.fencing.rounds import ROUND_TIMEOUT, FencingRefusedError
from eosfw.runtime.storage.kafka_based_log import READ_TIMEOUT
from eosfw.state.steps import TaskStep

from .fake_cluster import Entry, FakeCluster, Txn
from .worker_harness import WorkerHarness


def test_no_id_is_fenced_for_a_missing_connector():
    """FEN-02: Connect's 404; the config topic is read to its end first."""
    with WorkerHarness() as stage, pytest.raises(FencingRefusedError, match="nobody"):
        stage.worker._leader.fence_zombies("nobody", 0)

    assert not [call for call in stage.cluster.calls if call.startswith("fence")]


def test_a_fencing_is_decided_by_the_config_topic_as_it_is_now():
    """FEN-02: it is read to its end first, so what another leader committed meanwhile counts."""
    with WorkerHarness() as stage:
        share = {"properties": {"streams": "s0", "topic": "t"}}
        written = (("connector-other", share), ("task-other-0", share), ("commit-other", {"tasks": 1}))
        for key, value in written:
            stage.cluster.append("g-configs", 0, Entry(key.encode(), json.dumps(value).encode(), (), None))
        stage.worker._leader.fence_zombies("other", 0)

    assert b'{"task-count":1}' in stage.cluster.committed("g-configs")


def test_connectors_are_fenced_side_by_side():
    """FEN-03: a slow fencing delays only its own connector."""
    go = threading.Event()
    cluster = FakeCluster(before=lambda call, _: go.wait(30) if call == "fence g-slow-0 g-slow-1" else None)
    with WorkerHarness(cluster=cluster) as stage:
        for until in ("3", "5"):
            for name in ("slow", "quick"):
                stage.put(name, streams="2", tasks_max="2", until=until)
            stage.until(lambda: [one.at_end for one in tasks_of(stage, "quick")] == [True] * 2, "the quick one's end")
            if until == "3":
                stage.until_drained()
        fencing = [event for event in stage.events if event.step is TaskStep.WRITE_TASK_COUNT]
        assert [(event.connector, event.generation) for event in fencing].count(("slow", 1)) == 0
        go.set()
        stage.until_drained()

    assert cluster.calls.count("fence g-slow-0 g-slow-1") == 1


def tasks_of(stage, connector):
    return stage.worker.status().connectors[connector].tasks


def test_new_task_configurations_stop_the_tasks_of_their_connector_alone():
    """FEN-12: its own old tasks end before its new ones are initialised; others go on untouched."""
    with WorkerHarness() as stage:
        stage.put("c", streams="2", tasks_max="2", until="5")
        stage.put("d", streams="1", until="5")
        stage.until_drained()
        stage.put("c", streams="2", tasks_max="1", until="9")
        stage.until_drained()
        seen = list(stage.events)

    reported = [(e.connector, e.generation, e.step) for e in seen]
    assert reported.count(("c", 0, TaskStep.STOPPED)) == 2
    last = max(at for at, one in enumerate(reported) if one == ("c", 0, TaskStep.STOPPED))
    assert last < reported.index(("c", 1, TaskStep.INIT_PRODUCER))
    assert ("d", 0, TaskStep.STOPPED) not in reported


def test_worker_timeouts_equal_those_of_kafka_connect():
    """CFG-10: 5 s to stop in all, 90 s for a fencing round, 30 s to read the config topic."""
    with WorkerHarness() as stage:
        assert stage.worker._graceful_timeout == 5.0
    assert (ROUND_TIMEOUT, READ_TIMEOUT) == (90.0, 30.0)


@pytest.mark.parametrize("name", ["producer.override.unheard.of", "admin.override.bootstrap.servers"])
def test_properties_that_no_client_takes_change_nothing(name):
    """CFG-07, CFG-08: the generation stays, its tasks work on, the config topic is as it was."""
    with WorkerHarness() as stage:
        stage.put("c", streams="1")
        stage.until(lambda: stage.steps().count(TaskStep.COMMITTED) > 1, "some commits")
        before = len(stage.cluster.committed("g-configs"))
        with pytest.raises(ConfigError, match=name):
            stage.worker.put_connector("c", {"connector.class": "counting", "topic": "t", name: "x"})
        seen = stage.steps().count(TaskStep.COMMITTED)
        stage.until(lambda: stage.steps().count(TaskStep.COMMITTED) > seen + 1, "more commits of the same task")

        status = stage.worker.status()
        assert (status.connectors["c"].generation, status.retired, status.zombies) == (0, (), ())
        assert len(stage.cluster.committed("g-configs")) == before


def test_a_worker_without_processes_for_tasks_does_not_start_if_they_are_asked_for():
    stage = WorkerHarness(task_isolation="process")

    with pytest.raises(ConfigError, match=r"worker: task\.isolation=process is for `eosfw run`: here tasks share"):
        stage.worker.start()
    assert stage.cluster.logs == {}


def test_a_worker_whose_own_clients_cannot_be_made_does_not_start():
    """CFG-08: nothing is created or claimed before its properties were judged."""
    stage = WorkerHarness(admin_unheard_of="x")

    with pytest.raises(ConfigError, match=r"worker: admin\.unheard\.of: the fake backend"):
        stage.worker.start()
    assert stage.cluster.logs == {}


def test_a_topic_with_unreadable_properties_is_used_without_a_warning(caplog):
    """LOG-01: Kafka Connect goes on as well; reading and writing is all that `eosfw acl plan` grants."""
    caplog.set_level(logging.INFO)
    cluster = FakeCluster()
    with WorkerHarness(cluster=cluster):
        """Creates its topics."""
    cluster.before = refuse_to_describe
    with WorkerHarness(cluster=cluster) as stage:
        stage.put("c", streams="1", until="3")
        stage.until_drained()

    said = [one for one in caplog.records if "topic g-offsets is compacted: not for you" in one.message]
    assert said
    assert {one.levelno for one in said} == {logging.INFO}


def refuse_to_describe(call: str, _: object) -> None:
    if call.startswith("topic_config"):
        raise TopicAuthorizationError("not for you")


def test_the_config_position_passes_trailing_control_and_aborted_records():
    """LOG-01: the position is the next offset, behind control records and aborted ones, so nothing is read again."""
    with WorkerHarness() as stage:
        log = stage.cluster.logs[TopicPartition("g-configs", 0)]
        stage.put("c", streams="1", until="3")
        stage.until_drained()
        log.append(Entry(b"connector-c", None, (), Txn(open=False, aborted=True)))
        stage.worker.confirm()

        assert stage.worker._topic.position == len(log)
        read = len(stage.cluster.reads)
        stage.worker.confirm()
        assert stage.cluster.reads[read:] == []
        assert stage.worker._topic.entry("c").properties is not None
