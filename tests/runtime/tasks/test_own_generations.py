"""A worker that replaces tasks of its own is not taken over by anybody."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ..worker_harness import WorkerHarness


@pytest.mark.parametrize(("generations_back", "superseded"), [(1, False), (0, True)])
def test_only_a_generation_of_another_worker_supersedes_a_run(monkeypatch, generations_back, superseded):
    """PLG-05: tasks that are still starting see the generation that replaces them before they are stopped."""
    with WorkerHarness() as stage:
        stage.put("c", streams="1", until="5", tasks_max="1")
        stage.until_drained()
        connectors = stage.worker._executor.connectors()
        (task,) = connectors["c"].tasks
        starting = replace(task, generation=task.generation - generations_back, superseded=True)
        seen = {"c": replace(connectors["c"], tasks=(starting,))}
        monkeypatch.setattr(stage.worker._executor, "connectors", lambda: seen)

        assert stage.worker.status().superseded is superseded
