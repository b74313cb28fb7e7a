"""A commit may go on beside the next poll; then nothing else differs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from eosfw.errors import AbortableError, ConfigError
from eosfw.logging_context import current_logging_context
from eosfw.runtime.status import TaskState
from eosfw.state.steps import TaskStep

from ..fake_cluster import FakeCluster, FakeProducer
from ..scripted_task import OFFSETS, Scripted, batch, failure, record, run, scripted
from ..worker_harness import PATIENCE, WorkerHarness, connector_of

OVERLAP = {"transaction_commit_overlap": "true"}
ONE = ["begin", "send t 2", OFFSETS, "commit"]


class HeldCommit:
    """Holds the first commit of a task up until it is released, and lets it fail if asked to."""

    def __init__(self, *errors: Exception) -> None:
        self.reached, self.released = threading.Event(), threading.Event()
        self.cluster = FakeCluster(fail={"commit": [self._hold]})
        self._errors = list(errors)

    def _hold(self) -> None:
        self.reached.set()
        assert self.released.wait(PATIENCE)
        for error in self._errors:
            raise error


@contextmanager
def committing(task: type[Scripted], held: HeldCommit, **properties: str) -> Iterator[WorkerHarness]:
    """A task that polls while its first commit is held up; released at the end of the block."""
    with WorkerHarness(connector_of(task), held.cluster) as stage:
        try:
            stage.put("c", **OVERLAP, **properties)
            assert held.reached.wait(PATIENCE)
            stage.until(lambda: stage.steps().count(TaskStep.POLL) > 1, "the next poll")
            yield stage
        finally:
            held.released.set()


def test_the_next_poll_overlaps_the_commit_and_its_records_wait():
    """The next transaction begins once the one before has ended."""
    polled = threading.Event()

    def second(_: Any) -> Any:
        polled.set()
        return batch(2)

    held = HeldCommit()
    with committing(scripted(batch(0), second), held) as stage:
        assert polled.wait(PATIENCE)
        assert stage.cluster.calls == ["init", *ONE]
        assert stage.worker.status().records == 0
        held.released.set()
        stage.until(lambda: stage.worker.drained(9), "the end of the script")
        assert stage.worker.status().records == 4
    assert stage.cluster.calls == ["init", *ONE, *ONE, "close"]
    assert stage.cluster.committed("t") == [b"0", b"1", b"2", b"3"]


def test_an_interval_that_ends_overlaps_the_next_poll_too():
    held, always = HeldCommit(), {"transaction_boundary": "interval", "transaction_boundary_interval_ms": "0"}
    with committing(scripted(batch(0), batch(2)), held, **always) as stage:
        held.released.set()
        stage.until(lambda: stage.worker.drained(9), "the end of the script")
    assert stage.cluster.committed("t") == [b"0", b"1", b"2", b"3"]


def test_commits_precede_the_next_poll_unless_overlap_is_asked_for():
    """Callbacks come later with it, so it is opt-in."""
    task = scripted(batch(0), lambda _: task.heard.append("poll"))
    run(task)

    assert task.heard[:2] == ["commit", "poll"]


def test_tasks_with_commit_record_commit_before_they_poll(caplog):
    """Their callbacks belong to one transaction, and shall not come a poll later."""
    caplog.set_level("INFO", "eosfw")
    heard: list[Any] = []

    def second(task: Any) -> Any:
        heard.append("poll")
        return [record(1)]

    task = scripted(
        [record(0)], second, commit_record=lambda _, one, metadata: heard.append((one.value, metadata.offset))
    )
    run(task, **OVERLAP)

    assert heard == [(b"0", 0), "poll", (b"1", 1)]
    assert "it defines commit_record" in caplog.text


def test_callbacks_come_from_the_tasks_thread_between_polls(monkeypatch):
    """Never while poll runs, though the commit ends then."""
    heard: list[tuple[str, str]] = []
    committed, commit_transaction = threading.Event(), FakeProducer.commit_transaction

    def commit(producer: FakeProducer, timeout: float) -> None:
        commit_transaction(producer, timeout)
        if held.cluster.committed("t"):
            committed.set()

    monkeypatch.setattr(FakeProducer, "commit_transaction", commit)

    def note(what: str) -> None:
        heard.append((what, threading.current_thread().name))

    def second(_: Any) -> Any:
        note("poll begins")
        held.released.set()
        assert committed.wait(PATIENCE)
        note("poll ends")
        return batch(2)

    held = HeldCommit()
    with committing(scripted(batch(0), second, commit=lambda _: note("commit")), held) as stage:
        stage.until(lambda: stage.worker.drained(9), "the end of the script")
    assert [what for what, _ in heard[:4]] == ["poll begins", "poll ends", "commit", "commit"]
    assert {thread for _, thread in heard} == {"eosfw-c-0-g0"}


def test_the_failure_of_an_overlapping_commit_fails_its_task():
    """It surfaces after the poll, whose records are not sent; the transaction is aborted."""
    held = HeldCommit(AbortableError("too large"))
    with committing(scripted(batch(0), batch(2)), held) as stage:
        held.released.set()
        stage.until_ended()
        assert failure(stage) == "too large"
    assert stage.cluster.calls == ["init", *ONE, "abort", "close"]
    assert stage.cluster.committed("t") == []


@pytest.mark.parametrize("how", ["stop", "pause"])
def test_a_stop_or_pause_waits_for_the_overlapping_commit(how):
    """TXN-11, TXN-12: then it commits what the poll returned."""
    asked = threading.Event()

    def second(_: Any) -> Any:
        assert asked.wait(PATIENCE)
        return batch(2)

    held = HeldCommit()
    with committing(scripted(batch(0), second, batch(4)), held) as stage:
        (running,) = stage.worker._executor._current["c"][1]
        getattr(running.task, {"stop": "trigger_stop", "pause": "pause"}[how])()
        asked.set()
        held.released.set()
        wanted = {"stop": TaskState.STOPPED, "pause": TaskState.PAUSED}[how]
        stage.until(lambda: running.task.status().state is wanted, how)
        assert stage.cluster.calls[: 2 * len(ONE) + 1] == ["init", *ONE, *ONE]
        assert stage.cluster.committed("t") == [b"0", b"1", b"2", b"3"]


def test_a_kill_during_an_overlapping_commit_leaves_its_producer_alone():
    """Another thread uses it; an abort beside a commit is nothing that a client expects."""
    awake = threading.Event()

    def asleep(_: Any) -> None:
        awake.wait(PATIENCE)

    held = HeldCommit()
    with committing(scripted(batch(0), asleep), held) as stage:
        stage.worker.kill()
        held.released.set()
        awake.set()
        (task,) = stage.until_ended()
    assert task.state is TaskState.STOPPED
    assert stage.cluster.calls == ["init", *ONE, "close"]


def test_a_poll_that_fails_beside_a_commit_leaves_the_commit_standing():
    """TXN-11: the task fails with the poll's error once the commit is over."""

    def second(_: Any) -> Any:
        held.released.set()
        raise ValueError("broken")

    held = HeldCommit()
    with committing(scripted(batch(0), second), held) as stage:
        stage.until_ended()
        assert "broken" in failure(stage)
    assert stage.cluster.calls == ["init", *ONE, "close"]
    assert stage.cluster.committed("t") == [b"0", b"1"]


def test_a_task_is_not_drained_while_a_commit_is_under_way():
    """Whoever waits for the end of a source finds all of its records committed."""
    held = HeldCommit()
    with committing(scripted(batch(0)), held) as stage:
        assert not stage.worker.drained(0)
        held.released.set()
        stage.until(lambda: stage.worker.drained(9), "the end of the script")
        assert stage.cluster.committed("t") == [b"0", b"1"]


def test_a_connectors_own_boundaries_refuse_overlap():
    """Its records are asked for one by one while they are sent."""
    with WorkerHarness(connector_of(scripted())) as stage, pytest.raises(ConfigError, match="poll or interval"):
        stage.put("c", transaction_boundary="connector", **OVERLAP)


def test_log_records_of_an_overlapping_commit_name_its_task():
    """As those of the task's own thread do."""
    told: list[str] = []

    def tell(call: str, transactional_id: str | None) -> None:
        if (call, transactional_id) == ("commit", "g-c-0"):
            told.append(f"{threading.current_thread().name} {current_logging_context()}")

    run(scripted(batch(0)), FakeCluster(before=tell), **OVERLAP)
    assert told == ["eosfw-c-0-commit [c|task-0]"]
