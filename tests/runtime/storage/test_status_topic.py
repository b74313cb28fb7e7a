"""States are written to the status topic by a thread that nothing ends before the worker stops."""

from __future__ import annotations

import json

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw.runtime.storage.status_topic import StatusTopic
from eosfw.state.storage.status_records import ReportedStatus

from ..fake_cluster import FakeBackend, FakeCluster


def test_states_are_written_behind_one_that_fails_in_a_way_that_nobody_foresaw() -> None:
    """SCN-07: else all states would stay as they are, and a stop would wait for a thread that has ended."""
    cluster = FakeCluster(logs={TopicPartition("status", 0): []}, fail={"send status": [ValueError("odd")]})
    topic = StatusTopic(FakeBackend(cluster), "status", ThreadRuntime(), {})  # type: ignore[arg-type]
    for name in ("first", "second"):
        topic.put_connector(name, ReportedStatus("RUNNING", "worker", 1))

    assert topic.flush(10)
    topic.close()
    (written,) = cluster.logs[TopicPartition("status", 0)]
    assert written.key == b"status-connector-second"
    assert json.loads(written.value or b"")["state"] == "RUNNING"
