"""A pause leaves no transaction open, and a resumed task loses and repeats nothing."""

from __future__ import annotations

from eosfw.runtime.status import TaskState
from eosfw.state.steps import TaskStep

from .group import Group, exactly


def all_paused(group: Group) -> bool:
    return {task.state for task in group.worker.status().tasks} == {TaskState.PAUSED}


def test_a_pause_with_an_open_transaction_lets_readers_go_on(cluster):
    """TXN-12: what was polled before it is visible while the tasks are paused."""
    with Group(cluster) as group:
        group.put(
            streams="2",
            until="300",
            batch="3",
            tasks_max="2",
            transaction_boundary="interval",
            transaction_boundary_interval_ms="3600000",
        )
        group.until_step(TaskStep.SEND, 4)
        group.worker.pause_connector("c")
        group.until(lambda: all_paused(group), "the pause")

        before = group.committed()
        assert len(before) == group.worker.status().records > 0
        group.worker.resume_connector("c")
        group.until_drained()
    with Group(cluster, group.name) as reading:
        assert reading.committed(group.topic) == exactly(2, 300)
    assert not [event for event in group.events if event.step in (TaskStep.ABORT, TaskStep.FENCED)]
