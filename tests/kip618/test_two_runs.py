"""Two runs of one group at once: the newer one takes over, the older one ends as superseded."""

from __future__ import annotations

from eosfw.runtime.status import TaskState
from eosfw.state.steps import TaskStep

from .group import Group


def numbers(values: list[bytes], stream: bytes) -> list[int]:
    return sorted(int(value.split(b":")[1]) for value in values if value.startswith(stream + b":"))


def test_the_older_of_two_runs_is_superseded_without_duplicates(cluster):
    """TXN-19, FEN-10: the same file started twice, while both write."""
    with Group(cluster) as older, Group(cluster, older.name) as newer:
        older.put(streams="3", batch="3", tasks_max="2")
        older.until_step(TaskStep.COMMITTED, 5)
        newer.put(streams="3", batch="3", tasks_max="2")
        older.until(lambda: all(task.superseded for task in older.worker.status().tasks), "the end of the older run")
        newer.until_step(TaskStep.COMMITTED, 5)
        newer.worker.stop(10.0)

        status = older.worker.status()
        assert status.superseded
        assert {task.state for task in status.tasks} == {TaskState.UNASSIGNED}
        assert all(f"worker {newer.worker.name}" in task.trace for task in status.tasks)
        assert not newer.worker.status().superseded
        values = newer.committed()
        for stream in (b"s0", b"s1", b"s2"):
            assert numbers(values, stream) == list(range(len(numbers(values, stream))))


def test_an_older_leader_cannot_write_configurations_any_more(cluster):
    """LDR-01, LDR-03, testFencedLeaderRecovery: its producer is fenced; the log tells it by whom."""
    from eosfw.errors import SupersededError

    with Group(cluster) as older:
        older.put(streams="1", until="5")
        older.until_drained()
        with Group(cluster, older.name) as newer:
            newer.put(streams="1", until="9")
            try:
                older.put(streams="1", until="99")
            except SupersededError as error:
                message = str(error)
            newer.until_drained()

            assert newer.worker.name in message
            assert older.worker.status().superseded
            assert len(newer.committed()) == 9


def test_a_fenced_leader_without_a_visible_successor_claims_the_id_again(cluster):
    """LDR-04: another leader claimed the id and left; the write is sent again."""
    with Group(cluster) as group:
        with Group(cluster, group.name):
            pass
        group.put(streams="1", until="5")
        group.until_drained()

        assert len(group.committed()) == 5
        assert [e.step for e in group.events].count(TaskStep.CLAIM_LEADERSHIP) == 2
