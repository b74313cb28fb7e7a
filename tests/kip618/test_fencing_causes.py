"""A fenced task tells its user why it was fenced."""

from __future__ import annotations

from contextlib import closing

from eosfw.state.steps import TaskStep

from .group import Group, exactly
from .test_outcomes import await_abort


def test_a_task_that_another_client_fenced_says_so_and_goes_on(cluster):
    """An application, or an administrator, initialises its id once."""
    with Group(cluster) as group:
        gate = group.gates.freeze(TaskStep.COMMIT, task=0, nth=2)
        group.put(streams="1", until="30", batch="5")
        assert gate.reached.wait(30)
        with closing(group.backend.producer(f"{group.name}-c-0")) as intruder:
            intruder.init_transactions(30.0)
        gate.open()
        group.until_drained()

        assert group.committed() == exactly(1, 30)
        (notice,) = group.worker.status().notices
        assert notice.kind == "fenced by another client"
        assert "another client, or an administrator, initialised its transactional id" in notice.text


def test_a_task_whose_transaction_timed_out_says_so_and_goes_on(cluster):
    """TXN-10: with what to change."""
    with Group(cluster) as group:
        gate = group.gates.freeze(TaskStep.COMMIT, task=0, nth=2)
        override = {"producer.override.transaction.timeout.ms": "3000"}
        group.put(streams="1", until="30", batch="5", **override)
        assert gate.reached.wait(30)
        await_abort(group)
        gate.open()
        group.until_drained()

        (notice,) = group.worker.status().notices
        assert "its transaction was open for longer than its timeout" in notice.text
        assert "Raise `producer.override.transaction.timeout.ms`" in notice.text
