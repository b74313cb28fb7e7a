"""Tasks that do not stop in time, and their fencing when they wake."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.observe import Gates
from eosfw.state.steps import TaskStep

from ..counting import expected
from ..worker_harness import WorkerHarness


@pytest.fixture
def gates() -> Iterator[Gates]:
    with Gates(ThreadRuntime()) as gates:
        yield gates


@pytest.fixture
def stage(gates: Gates) -> Iterator[WorkerHarness]:
    with WorkerHarness(on_step=gates.observe, task_shutdown_graceful_timeout_ms="50") as stage:
        yield stage


def wake(stage: WorkerHarness, gates: Gates) -> None:
    gates.close()
    stage.until(lambda: not stage.worker.status().zombies, "the end of the zombie")


def test_a_start_that_was_asked_to_stop_does_not_fence_its_successor(stage, gates):
    """TXN-14: the late one leaves the transactional id alone."""
    gate = gates.freeze(TaskStep.INIT_PRODUCER)
    stage.put("c", until="3")
    assert gate.reached.wait(30)
    stage.put("c", until="3")
    stage.until_drained()
    wake(stage, gates)

    assert stage.cluster.calls.count("init") == 1
    assert stage.steps(0, generation=0)[-1] is TaskStep.STOPPED


def test_a_fencing_round_that_slept_does_not_fence_the_next_generation(stage, gates):
    """FEN-04: it was cancelled when newer task configurations were written."""
    stage.put("c", streams="2", until="2", tasks_max="2")
    stage.until_drained()
    gate = gates.freeze(TaskStep.FENCE_ZOMBIES)
    stage.put("c", streams="2", until="4", tasks_max="2")
    assert gate.reached.wait(30)
    stage.put("c", streams="2", until="6", tasks_max="2")
    stage.until_drained()
    wake(stage, gates)

    assert [call for call in stage.cluster.calls if call.startswith("fence")] == ["fence g-c-0 g-c-1"]
    assert not any(event.step is TaskStep.FENCED for event in stage.events)
    assert sorted(stage.cluster.committed("t")) == expected(2, 6)


def test_a_count_record_that_slept_is_not_written_for_a_newer_generation(stage, gates):
    """FEN-05: it would end a fencing that is still to come."""
    gate = gates.freeze(TaskStep.WRITE_TASK_COUNT)
    stage.put("c", streams="3", until="2", tasks_max="3")
    assert gate.reached.wait(30)
    stage.put("c", streams="3", until="4", tasks_max="1")
    stage.until_drained()
    wake(stage, gates)

    values = [value for value in stage.cluster.committed("g-configs") if value and b"task-count" in value]
    assert values == [b'{"task-count":1}']
