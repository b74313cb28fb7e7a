"""Commits that overlap the next poll lose and repeat nothing, whatever happens to their tasks."""

from __future__ import annotations

import pytest

from eosfw.state.steps import TaskStep

from .group import Group, exactly
from .test_outcomes import LosingBackend

OVERLAP = {"transaction_commit_overlap": "true"}


def test_reconfigurations_under_overlapping_commits_keep_every_record_exactly_once(cluster):
    """TXN-02, TXN-16: 3, 5, 1, 3 tasks, each stopped while it commits and polls."""
    with Group(cluster) as group:
        for generation, tasks in enumerate((3, 5, 1, 3)):
            group.put(streams="5", until="200", batch="2", tasks_max=str(tasks), **OVERLAP)
            group.until_step(TaskStep.COMMITTED, 3, generation=generation)
        group.until_drained()

        assert group.committed() == exactly(5, 200)
        assert group.worker.status().records == 1000


def test_a_zombie_of_an_overlapping_commit_is_fenced(cluster):
    """FEN-06: its commit sleeps while it polls; its successor has its records."""
    with Group(cluster) as group:
        gate = group.gates.freeze(TaskStep.COMMIT, task=0, nth=2)
        group.put(streams="2", until="60", batch="3", tasks_max="2", **OVERLAP)
        assert gate.reached.wait(30)
        group.put(streams="2", until="60", batch="3", tasks_max="1", **OVERLAP)
        group.until_drained()
        gate.open()
        group.until_zombies_ended()

        assert group.committed() == exactly(2, 60)
        assert 0 in [task.id.task for task in group.worker.status().retired if task.superseded]


@pytest.mark.parametrize("happened", [True, False], ids=["committed", "not committed"])
def test_a_lost_answer_to_an_overlapping_commit_neither_loses_nor_repeats(cluster, happened):
    """What was polled meanwhile was sent by nobody: the task starts over from the committed offsets."""
    with Group(cluster, wrap=lambda backend: LosingBackend(backend, happened=happened)) as group:
        group.put(streams="1", until="30", batch="5", **OVERLAP)
        group.until_drained()

        assert group.committed() == exactly(1, 30)
        assert [notice.kind for notice in group.worker.status().notices] == ["indefinite outcome"]


def test_a_worker_that_is_killed_during_overlapping_commits_resumes_exactly(cluster):
    """TXN-07: another run of the group goes on where the last commit left off."""
    with Group(cluster) as first:
        first.put(streams="2", until="300", batch="3", tasks_max="2", **OVERLAP)
        first.until_step(TaskStep.COMMIT, 6)
        first.worker.kill()
    with Group(cluster, first.name) as second:
        second.put(streams="2", until="300", batch="3", tasks_max="2", **OVERLAP)
        second.until_drained()

        assert second.committed() == exactly(2, 300)
