"""A task that does not stop in time is cancelled: its clients are closed, whatever it waits for."""

from __future__ import annotations

from contextlib import closing

from eosfw.records import ProducerRecord
from eosfw.state.steps import TaskStep

from .group import Group, exactly


def test_a_task_is_cancelled_while_it_waits_for_its_offsets(cluster):
    """TXN-13: a transaction that stays open in the offsets topic holds up its read, and not its end."""
    with Group(cluster, cancels_tasks=True) as group:
        group.put(streams="1", until="10")
        group.until_drained()
        with closing(group.backend.producer(f"{group.name}-stranger")) as stranger:
            stranger.init_transactions(30.0)
            stranger.begin_transaction()
            stranger.send(ProducerRecord(f"{group.name}-offsets", b"{}", b"a stranger's", partition=0))
            stranger.flush(30.0)
            group.put(streams="1", until="20")
            group.until_step(TaskStep.READ_OFFSETS, generation=1)
            group.put(streams="1", until="30")
            group.until_zombies_ended()

            assert TaskStep.START_TASK not in [event.step for event in group.events if event.generation == 1]
            stranger.abort_transaction(30.0)
        group.until_drained()
        assert group.committed() == exactly(1, 30)


def test_a_cancelled_task_commits_nothing_when_it_wakes(cluster):
    """TXN-13: it slept before its commit; its successor sent its records."""
    with Group(cluster, cancels_tasks=True) as group:
        given = {"streams": "1", "until": "30", "batch": "3"}
        group.wake_replaced(TaskStep.COMMIT, given, given, task=0, nth=2)

        assert group.committed() == exactly(1, 30)
        woken = [event.step for event in group.events if event.generation == 0][-1]
        assert woken is TaskStep.STOPPED
