"""The status topic as Kafka Connect writes and reads it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eosfw.ids import ConnectorTaskId
from eosfw.state.storage.status_records import (
    ReportedStatus,
    StatusLog,
    StatusRecord,
    TopicStatus,
    connector_status_record,
    may_replace,
    task_status_record,
    topic_removal_record,
    topic_status_record,
)

RUNNING = ReportedStatus("RUNNING", "a:8083", 3)
TASK = ConnectorTaskId("my-c", 1)


def folded(*records: StatusRecord) -> StatusLog:
    """A log of these records."""
    log = StatusLog()
    assert [log.apply(*record) for record in records] == [None] * len(records)
    return log


def test_records_have_the_bytes_of_connects_json_converter():
    """Golden bytes of `KafkaStatusBackingStore`."""
    failed = ReportedStatus("FAILED", "a:8083", 3, 'Traceback\n "ü"', "1")
    assert connector_status_record("c", RUNNING) == (
        b"status-connector-c",
        b'{"state":"RUNNING","trace":null,"worker_id":"a:8083","generation":3,"version":null}',
    )
    assert task_status_record(TASK, failed) == (
        b"status-task-my-c-1",
        '{"state":"FAILED","trace":"Traceback\\n \\"ü\\"","worker_id":"a:8083","generation":3,"version":"1"}'.encode(),
    )
    assert topic_status_record(TopicStatus("t", "c", 0, 99)) == (
        b"status-topic-t:connector-c",
        b'{"topic":{"name":"t","connector":"c","task":0,"discoverTimestamp":99}}',
    )
    assert task_status_record(TASK, None) == (b"status-task-my-c-1", None)
    assert topic_removal_record("c", "t") == (b"status-topic-t:connector-c", None)


def test_log_reads_what_was_written():
    topic = TopicStatus("t", "c", 0, 99)
    log = folded(
        connector_status_record("my-c", RUNNING), task_status_record(TASK, RUNNING), topic_status_record(topic)
    )
    assert log.connectors == {"my-c": RUNNING}
    assert log.tasks == {TASK.connector: {TASK: RUNNING}}
    assert log.topics == {"c": {"t": topic}}
    log.apply(*topic_removal_record("c", "t"))
    log.apply(*task_status_record(TASK, None))
    log.apply(*connector_status_record("my-c", None))
    assert (log.connectors, log.tasks, log.topics) == ({}, {}, {})


@pytest.mark.parametrize(
    ("state", "late_state", "generation", "kept"),
    [
        ("RUNNING", "UNASSIGNED", 2, True),
        ("RUNNING", "UNASSIGNED", 3, True),
        ("RUNNING", "UNASSIGNED", 4, True),
        ("RUNNING", "FAILED", 2, False),
        ("PAUSED", "UNASSIGNED", 2, False),
        ("STOPPED", "UNASSIGNED", 2, False),
    ],
)
def test_late_unassigned_does_not_replace_the_new_owners_running(state, late_state, generation, kept):
    """SCN-07: the worker that gave a task up may report that after its new owner has started it."""
    known, late = replace(RUNNING, state=state), ReportedStatus(late_state, "b:8083", generation)
    log = folded(task_status_record(TASK, known), task_status_record(TASK, late))
    assert log.tasks[TASK.connector][TASK] == (known if kept else late)


@pytest.mark.parametrize(("worker", "may"), [("a:8083", True), ("b:8083", False)])
def test_worker_gives_up_nothing_that_runs_in_another_one(worker, may):
    """SCN-07: whatever its generation, since the group may be in a newer one than when the new owner reported."""
    late = ReportedStatus("UNASSIGNED", worker, 4)
    log = folded(task_status_record(TASK, RUNNING), task_status_record(TASK, late))

    assert may_replace(RUNNING, late) is may
    assert log.tasks[TASK.connector][TASK] == (late if may else RUNNING)


@pytest.mark.parametrize(
    ("worker", "generation", "may"),
    [
        (b"a:8083".decode(), 1, True),
        ("b:8083", 2, False),
        ("A:8083", 2, False),
        ("b:8083", 3, True),
        ("b:8083", 4, True),
    ],
)
def test_worker_replaces_its_own_states_and_those_of_older_generations(worker, generation, may):
    """SCN-07: `canWriteSafely`."""
    assert may_replace(RUNNING, ReportedStatus("FAILED", worker, generation)) is may
    assert may_replace(None, RUNNING)


def test_an_old_tombstone_of_a_connector_does_not_hide_its_new_tasks():
    """It was deleted and created anew; a worker that starts reads one partition of the topic after the other."""
    log = folded(
        task_status_record(TASK, RUNNING),
        connector_status_record("my-c", None),
        connector_status_record("my-c", RUNNING),
    )
    assert (log.connectors, log.tasks) == ({"my-c": RUNNING}, {"my-c": {TASK: RUNNING}})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"\xff", b"{}"),
        (b"something", b"{}"),
        (b"status-connector-", b'{"state":"RUNNING","worker_id":"a","generation":1}'),
        (b"status-connector-c", b'{"state":"DANCING","worker_id":"a","generation":1}'),
        (b"status-connector-c", b"[1]"),
        (b"status-connector-c", b"no json"),
        (b"status-connector-c", b'{"state":"RUNNING"}'),
        (b"status-connector-c", b'{"state":"RUNNING","worker_id":"a","generation":1,"trace":5}'),
        (b"status-task-c", b'{"state":"RUNNING","worker_id":"a","generation":1}'),
        (b"status-task-c-x", b'{"state":"RUNNING","worker_id":"a","generation":1}'),
        (b"status-topic-t", b'{"topic":{}}'),
        (b"status-topic-t:connector-c", b'{"topic":{}}'),
    ],
)
def test_malformed_records_are_skipped_with_a_reason(key, value):
    log = StatusLog()
    assert "malformed status record" in str(log.apply(key, value))
    assert (log.connectors, log.tasks, log.topics) == ({}, {}, {})
