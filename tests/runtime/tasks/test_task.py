"""What a task asks of its producer, in which order, whatever happens (Kafka's ExactlyOnceWorkerSourceTaskTest)."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from eosfw.errors import ClusterUnavailableError
from eosfw.records import SourceBatch, SourceRecord
from eosfw.runtime.status import TaskState
from eosfw.state.steps import STARTUP, StepEvent, TaskStep

from ..fake_cluster import Entry, FakeCluster, FakeProducer
from ..scripted_task import OFFSETS, batch, failure, record, run, scripted
from ..worker_harness import PATIENCE, WorkerHarness, connector_of

# --- transactions


def test_each_poll_is_one_transaction_with_the_offset_behind_it():
    """TXN-02, TXN-03, TXN-05: begin at the first record, offsets before the commit."""
    stage = run(scripted(batch(0), None, batch(2)))

    one = ["begin", "send t 2", OFFSETS, "commit"]
    assert stage.cluster.calls == ["init", *one, *one, "close"]
    assert stage.cluster.committed("t") == [b"0", b"1", b"2", b"3"]


def test_steps_of_start_and_transaction_are_announced_in_order():
    """FEN-09: an observer can freeze a task between any two steps."""
    stage = run(scripted(batch(0)))

    wanted = [*STARTUP, TaskStep.POLL, TaskStep.BEGIN, TaskStep.SEND, TaskStep.SEND_OFFSETS, TaskStep.COMMIT]
    assert stage.steps()[: len(wanted) + 1] == [*wanted, TaskStep.COMMITTED]
    assert stage.steps()[-1] is TaskStep.STOPPED
    events = [event for event in stage.events if event.step in (TaskStep.SEND, TaskStep.COMMITTED)]
    assert [event.detail["records"] for event in events] == [2, 2]
    assert {event.transaction for event in events} == {1}
    assert {event.transactional_id for event in events} == {"g-c-0"}


def test_empty_polls_are_announced_but_never_touch_the_producer():
    """TXN-06: no transaction, but `commit` is called each time."""
    task = scripted(None, [], None)
    stage = run(task)

    assert stage.cluster.calls == ["init", "close"]
    assert task.heard.count("commit") >= 3


def test_records_of_one_poll_travel_together_and_every_offset_is_noted():
    """TXN-04: a list of records becomes columns."""
    stage = run(scripted([record(0), record(1), record(2, topic="u")]))

    assert stage.cluster.calls[1:-1] == ["begin", "send t 2", "send u", OFFSETS, "commit"]
    assert stage.cluster.committed("g-offsets") == [b'{"o":3}']


def test_commit_record_is_called_in_order_with_partition_and_offset():
    """TXN-05: after the commit, on the task's thread."""
    reported: list[tuple[bytes, int]] = []
    task = scripted(
        [record(0), record(1)],
        commit_record=lambda _, one, metadata: reported.append((one.value, metadata.offset)),
    )
    stage = run(task)

    assert reported == [(b"0", 0), (b"1", 1)]
    assert stage.cluster.calls[1:-1] == ["begin", "send t 2", OFFSETS, "commit"]


def test_a_callback_that_raises_changes_nothing(caplog):
    """TXN-05: errors of `commit` and `commit_record` are logged."""

    def burst(*_: Any) -> None:
        raise ValueError("no")

    stage = run(scripted([record(0)], [record(1)], commit=burst, commit_record=burst))
    assert stage.cluster.committed("t") == [b"0", b"1"]
    assert "a callback behind a commit failed; the commit stands: ValueError: no (in burst, " in caplog.text


# --- bad input


GOOD = record(0)
CYCLE: dict[str, Any] = {}
CYCLE["again"] = CYCLE
INT64 = type("int64", (), {"__module__": "numpy"})  # NumPy's, as far as a message needs it
FRAME = type("DataFrame", (list,), {"__module__": "pandas.core.frame", "ndim": 2})
"""As long as its rows, yet it gives the names of its columns."""
RECORDS: dict[str, tuple[SourceRecord, str]] = {
    "topic None": (replace(GOOD, topic=None), "names no topic (None)"),
    "empty topic": (replace(GOOD, topic=""), "names no topic ('')"),
    "value that is no bytes": (
        replace(GOOD, value="text"),
        "holds a str as value; only bytes and None can be sent: choose a converter, such as value.converter=string",
    ),
    "key that is no bytes": (
        replace(GOOD, key=7),
        "holds a int as key; only bytes and None can be sent: choose a converter, such as key.converter=json",
    ),
    "offset that is an object": (
        replace(GOOD, source_offset={"next": object()}),
        "has a source offset that cannot be stored: 'next' is a object",
    ),
    "offset that is NumPy's": (replace(GOOD, source_offset={"o": INT64()}), "'o' is a numpy.int64; only text, numbers"),
    "offset that is a list": (replace(GOOD, source_offset={"o": [1]}), "'o' is a list"),
    "offset that is no mapping": (replace(GOOD, source_offset=[1]), "[1] is no mapping"),
    "offset within itself": (replace(GOOD, source_offset=CYCLE), "'again' is a dict"),
    "offset that is NaN": (replace(GOOD, source_offset={"o": float("nan")}), "is nan, which JSON cannot hold"),
    "offset with a key of bytes": (replace(GOOD, source_offset={b"o": 1}), "the key b'o' is no text"),
    "partition within itself": (
        replace(GOOD, source_partition=CYCLE),
        "a source partition that cannot be stored: 'again' is a dict",
    ),
    "partition below 0": (replace(GOOD, partition=-1), "names partition -1"),
    "partition beyond any": (replace(GOOD, partition=2**32), "names partition 4294967296"),
    "partition that is a truth": (replace(GOOD, partition=True), "names partition True"),
    "timestamp below 0": (replace(GOOD, timestamp=-1), "has the timestamp -1"),
    "header that is none": (
        replace(GOOD, headers=(("h", "text"),)),
        "has the header ('h', 'text'); it must be a text with bytes or None; with a header.converter, with anything",
    ),
}


@pytest.mark.parametrize(("bad", "message"), RECORDS.values(), ids=RECORDS)
def test_an_invalid_record_is_named_by_its_index_and_nothing_is_sent(bad, message):
    """TXN-15, OFF-01 and bad input: the good records before it, of the same poll, are not sent either."""
    stage = run(scripted([GOOD, GOOD, bad, GOOD]))

    assert "the SourceRecord at index 2 " in failure(stage)
    assert message in failure(stage)
    assert stage.cluster.calls == ["init", "close"]


@pytest.mark.parametrize(
    ("polled", "message"),
    [
        ("text", "returned a str"),
        (5, "returned a int"),
        ({"a": 1}, "returned a dict; it must return a list of SourceRecord"),
        ((GOOD for _ in range(2)), "returned a generator; it must"),
        ([GOOD, "x"], "returned a str at index 1"),
        ([GOOD, batch(1)], "records beside batches (index 1)"),
        ([record(0, topic="g-offsets")], "its own offsets topic"),
        ([GOOD] * 1_000_001, "returned 1000001 records at once; return at most 1000000"),
        (SourceBatch("t", [b"v"] * 1_000_001, {}, {}), "returned 1000001 records at once"),
        (SourceBatch("t", [b"a", 1], {}, {}), "SourceBatch at index 0 holds a int"),
        (SourceBatch("t", b"a", {}, {}), "SourceBatch at index 0 has a bytes as values; it must be a list, a pyarrow"),
        (SourceBatch("t", {"id": b"a"}, {}, {}), "SourceBatch at index 0 has a dict as values"),
        (SourceBatch("t", {b"a"}, {}, {}), "SourceBatch at index 0 has a set as values"),
        (SourceBatch("t", FRAME(), {}, {}), "SourceBatch at index 0 has a pandas.DataFrame as values"),
        (SourceBatch("t", [b"a"], {}, {}, keys="k"), "SourceBatch at index 0 has a str as keys"),
        (SourceBatch("t", [b"a"], {}, {}, keys=[b"k", b"l"]), "has 1 values, yet 2 keys"),
        (SourceBatch("t", [b"a"], {}, {}, headers=[]), "has 1 values, yet 0 headers"),
        (SourceBatch("t", [b"a", b"b"], {}, {}, headers=[(), (("h", "text"),)]), "has the header ('h', 'text')"),
        (SourceBatch("t", [b"a"], {}, {}, source_offsets=[{b"n": 1}]), "b'n' is no text (record 0"),
        (SourceBatch("t", [b"a"], {}, {}, timestamps=[-5]), "has the timestamp -5"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_invalid_poll_result_fails_the_task_and_shows_nothing(polled, message):
    """TXN-15 and bad input: the message names what and where; the worker goes on."""
    stage = run(scripted(polled))

    assert message in failure(stage)
    assert stage.cluster.committed("t") == []
    assert "commit" not in stage.cluster.calls


def test_a_stop_that_fails_behind_a_failed_start_is_logged_with_the_error_of_the_start(caplog):
    """Bad input: what came first is the cause, and whoever reads the log meets it first."""

    def start(*_: Any) -> None:
        raise KeyError("table")

    def stop(self: Any) -> None:
        self.connection.close()

    assert failure(run(scripted(start=start, stop=stop))) == "'table'"
    (logged,) = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
    assert logged.startswith("task c-0 failed with KeyError: 'table' (in start, ")
    assert ", and once more when it was stopped: AttributeError: 'Script' object has no attribute" in logged


@pytest.mark.parametrize("offset", [{"o": 2**63}, {"o": "\ud800"}])
def test_an_offset_that_cannot_be_stored_leaves_nothing_visible(offset, caplog):
    """TXN-05: the producer's commit is not called; the transaction is aborted.

    MET-02: critical, as a fault of the connector that every new start will meet again.
    """
    stage = run(scripted([SourceRecord("t", b"0", None, {"p": "a"}, offset)]))

    assert "cannot be stored" in failure(stage)
    (critical,) = [one.getMessage() for one in caplog.records if one.levelname == "CRITICAL"]
    assert critical == f"task c-0 cannot store its source offsets, so it commits nothing: {failure(stage)}"
    assert stage.cluster.calls == ["init", "begin", "send t", "abort", "close"]
    assert stage.cluster.committed("t") == []


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(3), KeyboardInterrupt()])
def test_a_failing_poll_fails_its_task_and_aborts_its_transaction(error):
    """TXN-11: failed means no commit; not even SystemExit ends the worker."""
    task = scripted(batch(0), error)
    stage = run(task, transaction_boundary="interval")

    failure(stage)
    assert stage.cluster.calls[-2:] == ["abort", "close"]
    assert stage.cluster.committed("t") == []
    assert task.heard == ["stop"]
    assert stage.steps()[-3:] == [TaskStep.ABORT, TaskStep.ABORTED, TaskStep.FAILED]


@pytest.mark.parametrize("poll", ["empty", "asleep"])
def test_a_task_that_is_killed_between_two_polls_aborts_and_never_commits(poll):
    """TXN-11: the abort comes from another thread, so its own must not end the transaction as well."""
    awake = threading.Event()

    def sleep(context: Any) -> None:
        awake.wait(PATIENCE)

    with WorkerHarness(connector_of(scripted(batch(0), *([sleep] if poll == "asleep" else [])))) as stage:
        stage.put("c", transaction_boundary="interval", transaction_boundary_interval_ms="3600000")
        stage.until(lambda: stage.steps().count(TaskStep.POLL) > 1, "its next poll")
        stage.worker.kill()
        awake.set()
        (task,) = stage.until_ended()

    assert (task.state, stage.cluster.committed("t")) == (TaskState.STOPPED, [])
    assert stage.cluster.calls == ["init", "begin", "send t 2", "abort", "close"]


def test_a_task_that_cannot_start_never_polls():
    """TestFailureInOffsetStoreStart and its like: stop is called, clients are closed."""

    def start(self: Any, config: Any, context: Any) -> None:
        raise ValueError("no such file")

    task = scripted(batch(0), start=start)
    stage = run(task)

    assert "no such file" in failure(stage)
    assert TaskStep.POLL not in stage.steps()
    assert (stage.cluster.calls, task.heard) == (["init", "close"], ["stop"])


# --- without exactly-once


def test_without_exactly_once_offsets_follow_their_records():
    """CFG-01: flush, then the offset; no transaction, no fencing."""
    task = scripted(batch(0), batch(2))
    with WorkerHarness(connector_of(task), exactly_once_source_support="disabled") as stage:
        stage.put("c")
        stage.until(lambda: stage.worker.drained(9))

    task_calls = [call for call in stage.cluster.calls if call.startswith(("send t", OFFSETS, "begin", "fence"))]
    assert task_calls == ["send t 2", "send t 2", OFFSETS]
    assert TaskStep.INIT_PRODUCER not in stage.steps()
    assert stage.worker.status().records == 4


def test_without_exactly_once_a_task_of_an_outdated_generation_reads_no_offsets():
    """OFF-15: its connector was stopped, and its offsets altered, before the worker has read that it was."""
    cluster = FakeCluster()

    def stop(event: StepEvent) -> None:
        if event.step is TaskStep.CHECK_OFFSETS_TOPIC:
            cluster.append("g-configs", 0, Entry(b"commit-c", b'{"tasks": 0}', (), None))

    with WorkerHarness(
        connector_of(scripted(batch(0))), cluster, stop, exactly_once_source_support="disabled"
    ) as stage:
        stage.put("c")
        stage.until(lambda: TaskStep.SUPERSEDED in stage.steps(), "the end of the task")

    assert TaskStep.READ_OFFSETS not in stage.steps()
    assert cluster.committed("t") == []


def test_without_exactly_once_a_late_flush_is_tried_again(caplog):
    """CFG-10: `offset.flush.timeout.ms` ends the flush, not the task; the next one has its offsets as well."""
    task = scripted(batch(0), batch(2))
    cluster = FakeCluster()
    properties = {"exactly_once_source_support": "disabled", "offset_flush_interval_ms": "1"}

    def slow(event: StepEvent) -> None:
        if event.step is TaskStep.READ_OFFSETS:  # the flushes before are the leader's
            cluster.fail["flush"] = [ClusterUnavailableError("slow")] * 3  # one of them at a delivery before the commit

    with WorkerHarness(connector_of(task), cluster, slow, **properties) as stage:
        stage.put("c")
        stage.until(lambda: stage.cluster.committed("g-offsets")[-1:] == [b'{"o":4}'], "the offsets")
        assert not stage.worker.status().failures

    assert "could not commit offsets, it tries again: not delivered within 5 s: slow" in caplog.text


def test_with_exactly_once_the_flush_timeout_does_not_bound_a_commit():
    """CFG-10: a transaction has a timeout of its own."""
    timeouts = []
    task = scripted(batch(0))
    with WorkerHarness(connector_of(task), offset_flush_timeout_ms="1") as stage:
        before = FakeProducer.commit_transaction

        def commit(self, timeout):
            timeouts.append(timeout)
            before(self, timeout)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(FakeProducer, "commit_transaction", commit)
            stage.put("c")
            stage.until(lambda: stage.worker.drained(9))

    assert min(timeouts) > 1
