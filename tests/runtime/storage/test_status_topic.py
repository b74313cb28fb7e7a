"""States are written to the status topic by a thread that nothing ends before the worker stops."""

from __future__ import annotations

import json
import threading

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import IndefiniteOutcomeError, SaslAuthenticationError, TopicAuthorizationError
from eosfw.ids import TopicPartition
from eosfw.runtime.storage import status_topic
from eosfw.runtime.storage.status_topic import StatusTopic
from eosfw.state.storage.status_records import ReportedStatus

from ..fake_cluster import FakeBackend, FakeCluster

STATUS = TopicPartition("status", 0)


def topic_of(cluster: FakeCluster) -> StatusTopic:
    return StatusTopic(FakeBackend(cluster), "status", ThreadRuntime(), {})  # type: ignore[arg-type]


def report(topic: StatusTopic, name: str, state: str) -> None:
    topic.put_connector(name, ReportedStatus(state, "worker", 1))
    assert topic.flush(10)


def test_states_are_written_behind_one_that_fails_in_a_way_that_nobody_foresaw() -> None:
    """SCN-07: else all states would stay as they are, and a stop would wait for a thread that has ended."""
    cluster = FakeCluster(logs={STATUS: []}, fail={"send status": [ValueError("odd")]})
    topic = topic_of(cluster)
    for name in ("first", "second"):
        report(topic, name, "RUNNING")

    topic.close()
    (written,) = cluster.logs[STATUS]
    assert written.key == b"status-connector-second"
    assert json.loads(written.value or b"")["state"] == "RUNNING"


@pytest.mark.parametrize("left", [0, 1], ids=["created anew", "truncated"])
def test_states_are_read_on_in_a_topic_that_has_become_shorter(left: int) -> None:
    """Somebody has deleted it, or a broker has lost its last writes: what is reported since must be seen."""
    cluster = FakeCluster(logs={STATUS: []})
    topic = topic_of(cluster)
    for state in ("RUNNING", "PAUSED", "RUNNING"):
        report(topic, "c", state)
    topic.read_to_end()
    del cluster.logs[STATUS][left:]
    topic.read_to_end()
    report(topic, "c", "FAILED")

    topic.read_to_end()

    found = topic.connector("c")
    topic.close()
    assert found is not None
    assert found.state == "FAILED"


def test_a_state_of_which_nobody_knows_whether_it_was_written_is_written_again() -> None:
    """SCN-07: the broker was away for longer than a flush waits; else RUNNING tasks stay UNASSIGNED."""
    unknown = IndefiniteOutcomeError("flush of producer: not done within 30 s")
    cluster = FakeCluster(logs={STATUS: []}, fail={"flush": [unknown]})
    topic = topic_of(cluster)

    report(topic, "c", "RUNNING")

    topic.read_to_end()
    found = topic.connector("c")
    topic.close()
    assert found is not None
    assert found.state == "RUNNING"
    assert len(cluster.logs[STATUS]) == 2


def test_a_state_that_the_cluster_did_not_allow_is_written_once_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """SCN-07: else a task that has failed meanwhile is RUNNING in the status until it changes again."""
    monkeypatch.setattr(status_topic, "_REFUSED_PAUSE", 0.0)
    refusals = [TopicAuthorizationError("not allowed"), SaslAuthenticationError("password refused")]
    cluster = FakeCluster(logs={STATUS: []}, fail={"send status": [*refusals]})
    topic = topic_of(cluster)

    report(topic, "c", "FAILED")

    topic.read_to_end()
    found = topic.connector("c")
    topic.close()
    assert found is not None
    assert found.state == "FAILED"


def test_a_read_that_failed_is_repeated_by_new_clients() -> None:
    """Clients of some backends read certificates when they are made, and those may have been renewed on disk."""
    cluster = FakeCluster(logs={STATUS: []})
    topic = topic_of(cluster)
    topic.read_to_end()
    away = cluster.logs.pop(STATUS)
    with pytest.raises(KeyError):
        topic.read_to_end()
    assert len(cluster.readers) == 1

    cluster.logs[STATUS] = away
    report(topic, "c", "RUNNING")
    topic.read_to_end()

    assert topic.connector("c") is not None
    assert len(cluster.readers) == 2
    topic.close()


def test_of_states_that_wait_for_the_cluster_the_newest_is_written() -> None:
    """A task that is tried again reports each time: after an outage of hours states would be behind for minutes."""
    answers = threading.Event()
    cluster = FakeCluster(logs={STATUS: []}, before=lambda call, _: answers.wait(10) if call == "send status" else None)
    topic = topic_of(cluster)
    for number in range(1000):
        for name in ("first", "second"):
            topic.put_connector(name, ReportedStatus("RUNNING", "worker", number))
    answers.set()

    assert topic.flush(10)
    topic.close()
    written = [(entry.key, json.loads(entry.value or b"")["generation"]) for entry in cluster.logs[STATUS]]
    assert written[-2:] == [(b"status-connector-first", 999), (b"status-connector-second", 999)]
    assert len(written) <= 3, "one may have been on its way"
