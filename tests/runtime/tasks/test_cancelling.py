"""Cancelling a task never holds up whoever controls the worker."""

from __future__ import annotations

import threading

from eosfw.connectors import SourceTaskContext
from eosfw.runtime.status import TaskState

from ..fake_cluster import FakeCluster
from ..scripted_task import batch, scripted
from ..worker_harness import PATIENCE, WorkerHarness, connector_of

HOUR = {"transaction_boundary": "interval", "transaction_boundary_interval_ms": "3600000"}


def test_a_client_that_does_not_close_holds_up_no_new_generation(caplog):
    """TXN-13: closing is for a thread of its own. The log does not repeat that a cancelled task has no producer."""
    polling, awake, closing, closed = (threading.Event() for _ in range(4))

    def poll(_: SourceTaskContext) -> None:
        polling.set()
        assert awake.wait(PATIENCE)

    def before(call: str, transactional_id: str | None) -> None:
        if call == "close" and transactional_id == "g-c-0" and not closing.is_set():
            closing.set()
            assert closed.wait(PATIENCE)

    task = scripted(batch(0), poll)
    with WorkerHarness(
        connector_of(task), FakeCluster(before=before), cancels_tasks=True, task_shutdown_graceful_timeout_ms="50"
    ) as stage:
        try:
            stage.put("c", **HOUR)
            # In a poll, since between two polls a task that stops commits what is open.
            assert polling.wait(PATIENCE)
            assert stage.worker.status().tasks[0].open_records == 2
            task.script[:] = [batch(0), batch(2)]
            assert stage.put("c", **HOUR) == 1
            assert closing.wait(PATIENCE)
            stage.until(lambda: stage.worker.drained(9), "the new generation")
            assert len(stage.worker.status().zombies) == 1
        finally:
            closed.set()
            awake.set()
        stage.until(lambda: not stage.worker.status().zombies, "the end of the old one")
        (old,) = stage.worker.status().retired
    assert old.state is TaskState.STOPPED
    assert not [record.message for record in caplog.records if "open transaction" in record.message]
    assert stage.cluster.committed("t") == [b"0", b"1", b"2", b"3"]
