"""A zombie of a replaced generation reaches no reader, wherever it slept."""

from __future__ import annotations

import pytest

from eosfw.state.steps import TaskStep

from .group import Group, exactly


@pytest.mark.parametrize("step", [TaskStep.SEND, TaskStep.COMMIT], ids=lambda step: step.value)
def test_a_zombie_with_a_long_open_interval_is_fenced(cluster, step):
    """BND-07, TXN-02: records already sent in the open transaction are aborted by the fencing."""
    with Group(cluster) as group:
        common = {"streams": "2", "until": "60"}
        common |= {"transaction_boundary": "interval", "transaction_boundary_interval_ms": "100"}
        first, then = {**common, "batch": "1", "tasks_max": "2"}, {**common, "batch": "7", "tasks_max": "1"}
        group.wake_replaced(step, first, then, task=1)
        group.worker.stop(10.0)

        assert group.committed() == exactly(2, 60)


def test_a_zombie_does_not_overwrite_the_status_of_its_successor(cluster):
    """TXN-13: status updates of a replaced task do not change the status of its successor."""
    with Group(cluster) as group:
        given = {"streams": "1", "until": "30", "batch": "3"}
        group.wake_replaced(TaskStep.COMMIT, given, given, task=0)

        status = group.worker.status()
        assert [(task.generation, task.state.value) for task in status.tasks] == [(1, "RUNNING")]
        (zombie,) = status.retired
        assert (zombie.generation, zombie.state.value, zombie.superseded) == (0, "UNASSIGNED", True)
        assert f"fenced by generation 1, worker {group.worker.name}" in zombie.trace
        assert status.records == 30
