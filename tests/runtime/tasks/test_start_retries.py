"""A task that failed for a passing reason starts again; one whose fencing cannot succeed fails at once."""

from __future__ import annotations

from typing import Any

import pytest

from eosfw.errors import (
    ClusterUnavailableError,
    ConcurrentTransactionsError,
    IndefiniteOutcomeError,
    ReadStalledError,
    TransactionalIdAuthorizationError,
)
from eosfw.runtime.status import TaskState
from eosfw.runtime.storage.connector_offset_backing_store import ConnectorOffsetBackingStore
from eosfw.runtime.tasks import task as worker_task
from eosfw.runtime.tasks.producer_loss_recovery import ProducerLossRecovery
from eosfw.state.steps import TaskStep

from ..counting import expected
from ..fake_cluster import FakeCluster
from ..scripted_task import batch, run, scripted
from ..worker_harness import WorkerHarness

ROUND = "fence g-c-0 g-c-1"
TWO = {"streams": "2", "tasks_max": "2"}
AWAY = ClusterUnavailableError("no broker answered at h:9092")


@pytest.fixture
def retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shortest pauses; without this fixture a task waits until the test ends."""
    monkeypatch.setattr(worker_task, "FIRST_RETRY", 0.01)


@pytest.fixture
def long_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_task, "FIRST_RETRY", 3600.0)


def replaced(stage: WorkerHarness, *troubles: Exception) -> None:
    """Run a first generation, then put a second whose fencing meets these troubles."""
    stage.put("c", until="5", **TWO)
    stage.until_drained()
    stage.cluster.fail[ROUND] = list(troubles)
    stage.put("c", until="9", **TWO)


def waiting(stage: WorkerHarness) -> bool:
    return all(task.waiting for task in stage.worker.status().tasks)


@pytest.mark.usefixtures("retries")
def test_tasks_start_once_a_passing_trouble_is_over(caplog):
    """FEN-08: nobody has to restart them."""
    with WorkerHarness() as stage:
        replaced(stage, AWAY, AWAY, AWAY, AWAY)
        stage.until_drained()
        status = stage.worker.status()

    assert sorted(stage.cluster.committed("t")) == expected(2, 9)
    assert stage.cluster.calls.count(ROUND) > 2
    assert {(task.waiting, task.trace) for task in status.tasks} == {(None, None)}
    assert "task c-0: the task starts again after 0.01 s: earlier producers" in caplog.text


@pytest.mark.usefixtures("retries")
def test_a_start_whose_transactional_id_is_busy_is_tried_again_with_a_new_producer():
    """FEN-09: its predecessor's transaction is still being ended, for longer than a call waits."""
    with WorkerHarness() as stage:
        stage.cluster.fail["init"] = [ConcurrentTransactionsError("g-c-0 is busy")] * 2
        stage.put("c", until="5")
        stage.until_drained()

    assert [call for call in stage.cluster.calls if call in ("init", "close")][:5] == [
        *("init", "close", "init", "close", "init")
    ]
    assert sorted(stage.cluster.committed("t")) == expected(1, 5)


@pytest.mark.usefixtures("retries")
def test_a_start_that_could_not_read_its_offsets_is_tried_again(monkeypatch):
    """FEN-09: a cluster that is away for longer than a read waits ends no task."""
    troubles = [AWAY, ReadStalledError("g-c-0 holds a transaction open"), AWAY]
    load = ConnectorOffsetBackingStore.load

    def load_after_troubles(self: ConnectorOffsetBackingStore, *arguments: Any) -> None:
        if troubles:
            raise troubles.pop()
        load(self, *arguments)

    monkeypatch.setattr(ConnectorOffsetBackingStore, "load", load_after_troubles)
    with WorkerHarness() as stage:
        stage.put("c", until="5")
        stage.until_drained()

    assert troubles == []
    assert stage.steps().count(TaskStep.REQUEST_FENCING) == 4  # from the first step on: others may have come meanwhile
    assert sorted(stage.cluster.committed("t")) == expected(1, 5)


@pytest.mark.usefixtures("retries")
def test_a_task_whose_cluster_is_away_for_longer_than_a_transaction_may_last_starts_again():
    """TXN-09: it goes on from the committed offsets; nothing of the transaction that was open is seen."""
    cluster = FakeCluster()
    cluster.fail["send t 2"] = [AWAY] * 6
    run(scripted(batch(0)), cluster, producer_override_transaction_timeout_ms="300")

    assert cluster.calls.count("init") > 1
    assert cluster.calls.count("commit") == 1
    assert cluster.committed("t") == [b"0", b"1"]


@pytest.mark.usefixtures("retries")
def test_a_task_that_cannot_ask_whether_it_was_replaced_asks_again(monkeypatch):
    """FEN-09: its producer is lost, and the config topic cannot be read just then."""
    check, troubles = ProducerLossRecovery.check, [AWAY, AWAY]

    def check_after_troubles(self: ProducerLossRecovery, *arguments: Any, **more: Any) -> None:
        if troubles:
            raise troubles.pop()
        check(self, *arguments, **more)

    monkeypatch.setattr(ProducerLossRecovery, "check", check_after_troubles)
    cluster = FakeCluster()
    cluster.fail["commit"] = [IndefiniteOutcomeError("no answer")]
    run(scripted(batch(0)), cluster)

    assert cluster.calls.count("init") > 1
    assert cluster.committed("t") == [b"0", b"1"]


@pytest.mark.usefixtures("long_wait")
def test_the_status_shows_what_a_start_waits_for():
    """FEN-08: as the trace of a task that is not assigned yet; a stop does not wait for the next try."""
    with WorkerHarness() as stage:
        replaced(stage, AWAY, AWAY)
        stage.until(lambda: waiting(stage), "the wait of both tasks")
        one = stage.worker.status().tasks[0]
        assert (one.state, one.trace) == (TaskState.UNASSIGNED, one.waiting)
        assert str(AWAY) in (one.waiting or "")
        assert not stage.worker.drained(0)
    assert {(task.state, task.trace) for task in stage.worker.status().tasks} == {(TaskState.STOPPED, None)}


@pytest.mark.usefixtures("retries")
def test_a_task_that_fails_after_it_has_waited_shows_why_it_failed():
    """FEN-08: not that it starts again, which it does no more."""
    cluster = FakeCluster()
    cluster.fail["init"] = [AWAY, TransactionalIdAuthorizationError("g-c-0 is not allowed")]
    stage = run(scripted(batch(0)), cluster)

    (task,) = stage.worker.status().tasks
    assert (task.state, task.waiting) == (TaskState.FAILED, None)
    assert "g-c-0 is not allowed" in (task.trace or "")


@pytest.mark.usefixtures("long_wait")
def test_a_waiting_start_ends_when_its_generation_is_replaced():
    """FEN-04: the next generation fences for itself."""
    with WorkerHarness() as stage:
        replaced(stage, AWAY, AWAY)
        stage.until(lambda: waiting(stage), "the wait of both tasks")
        stage.cluster.fail[ROUND].clear()  # one round may have answered both tasks
        stage.put("c", until="9", **TWO)
        stage.until_drained()
        assert stage.worker.status().zombies == ()
    assert sorted(stage.cluster.committed("t")) == expected(2, 9)


@pytest.mark.usefixtures("retries")
def test_a_waiting_start_ends_when_another_worker_takes_over():
    """It asks, and hears of the newer generation: then it is superseded, not failed."""
    with WorkerHarness() as stage:
        stage.put("c", until="5", **TWO)
        stage.until_drained()
        away = [AWAY] * 2000
        stage.cluster.fail[ROUND] = away
        stage.put("c", until="9", **TWO)
        stage.until(lambda: waiting(stage), "the wait of both tasks")
        with WorkerHarness(cluster=stage.cluster) as successor:
            successor.put("c", until="9", **TWO)
            tasks = stage.until_ended()
            away.clear()
            successor.until_drained()

    assert all(task.superseded and "was fenced by generation" in (task.trace or "") for task in tasks)
    assert sorted(stage.cluster.committed("t")) == expected(2, 9)


@pytest.mark.usefixtures("long_wait")
def test_a_waiting_start_can_be_paused_and_resumed():
    """TXN-12: while it is paused it asks for nothing; resumed, it asks at once."""
    with WorkerHarness() as stage:
        replaced(stage, AWAY, AWAY)
        stage.until(lambda: waiting(stage), "the wait of both tasks")
        stage.worker.pause_connector("c")
        states = lambda: {task.state for task in stage.worker.status().tasks}  # noqa: E731
        stage.until(lambda: states() == {TaskState.PAUSED}, "the pause")
        asked = stage.steps(generation=1).count(TaskStep.REQUEST_FENCING)
        stage.cluster.fail.clear()
        assert stage.steps(generation=1).count(TaskStep.REQUEST_FENCING) == asked

        stage.worker.resume_connector("c")
        stage.until_drained()
    assert sorted(stage.cluster.committed("t")) == expected(2, 9)
