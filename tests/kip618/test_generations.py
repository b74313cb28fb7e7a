"""Task counts may change as they like: nothing is lost, nothing comes twice."""

from __future__ import annotations

import json
from contextlib import closing

from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from eosfw.runtime.storage.topic_creation import COMPACTED
from eosfw.state.steps import TaskStep

from .group import OVERLAP, Group, exactly


@OVERLAP
def test_reconfiguration_keeps_every_record_exactly_once(cluster, overlap):
    """testConnectorReconfiguration, LOG-05, FEN-01, TXN-02, TXN-16: 3, 5, 1, 3 tasks, each stopped while it commits.

    Each round fences the count before it.
    """
    given = {"streams": "5", "batch": "2", "transaction_commit_overlap": overlap}
    with Group(cluster) as group:
        for generation, tasks in enumerate((3, 5, 1, 3)):
            more = str(40 * (generation + 1))  # for each generation something to commit, however late it is replaced
            assert group.put(tasks_max=str(tasks), until=more, **given) == generation
            group.until_step(TaskStep.COMMITTED, 3, generation=generation)
        group.until_drained()

        assert group.committed() == exactly(5, 160)
        rounds = [event.detail["count"] for event in group.events if event.step is TaskStep.FENCE_ZOMBIES]
        assert rounds == [3, 5, 1]
        status = group.worker.status()
        assert status.records == 800


def test_a_lone_task_is_replaced_without_a_physical_fencing(cluster):
    """FEN-01: old and new share one id; initialising fences by itself."""
    with Group(cluster) as group:
        for _ in range(2):
            group.put(streams="1", until="300", batch="2")
            group.until_step(TaskStep.COMMITTED, 3)
        group.until_drained()

        assert group.committed() == exactly(1, 300)
        assert not [event for event in group.events if event.step is TaskStep.FENCE_ZOMBIES]


def test_a_connector_may_have_no_tasks_for_a_while(cluster):
    """FEN-13, LOG-06: a count of 0 is a generation like any other."""
    with Group(cluster) as group:
        group.put(streams="2", until="20", batch="2", tasks_max="2")
        group.until_drained()
        assert group.put(streams="0") == 1
        assert group.worker.status().tasks == ()
        assert group.worker.drained(0)
        group.put(streams="2", until="40", batch="2", tasks_max="2")
        group.until_drained()

        assert group.committed() == exactly(2, 40)


def test_deletion_and_recreation_still_fences(cluster):
    """LOG-08: the task count record outlives the connector, so a zombie of before is shut out."""
    with Group(cluster) as group:
        gate = group.gates.freeze(TaskStep.COMMIT, task=1)
        group.put(streams="2", until="30", batch="3", tasks_max="2")
        assert gate.reached.wait(30)
        group.worker.remove_connector("c")
        assert "c" not in group.worker.status().connectors

        assert group.put(streams="2", until="30", batch="3", tasks_max="1") == 1
        group.until_drained()
        gate.open()
        group.until_zombies_ended()

        assert group.committed() == exactly(2, 30)
        assert [e.detail["count"] for e in group.events if e.step is TaskStep.FENCE_ZOMBIES] == [2]


def test_a_second_run_continues_from_the_stored_offsets(cluster):
    """OFF-02, OFF-03, TXN-07: a second run needs only the offsets topic."""
    with Group(cluster) as first:
        first.put(streams="2", until="20", batch="3", tasks_max="2")
        first.until_drained()
    with Group(cluster, first.name) as second:
        second.put(streams="2", until="50", batch="3", tasks_max="1")
        second.until_drained()

        assert second.committed() == exactly(2, 50)
        assert second.worker.status().records == 60


@OVERLAP
def test_a_killed_worker_leaves_nothing_half_done(cluster, overlap):
    """TXN-07: open transactions abort; the next run goes on where the last commit left off."""
    given = {"streams": "1", "until": "50", "batch": "4", "transaction_commit_overlap": overlap}
    with Group(cluster) as first:
        gate = first.gates.freeze(TaskStep.COMMIT, task=0, nth=3)
        first.put(**given)
        assert gate.reached.wait(30)
        first.worker.kill()
    with Group(cluster, first.name) as second:
        second.put(**given)
        second.until_drained()

        assert second.committed() == exactly(1, 50)


STOPPED_IN_CONNECT = (
    ("connector-c", {"properties": {"connector.class": "counting", "name": "c", "tasks.max": "2"}}),
    ("task-c-0", {"properties": {"task.class": "CountingTask"}}),
    ("task-c-1", {"properties": {"task.class": "CountingTask"}}),
    ("commit-c", {"tasks": 2}),
    ("tasks-fencing-c", {"task-count": 2}),
    ("commit-c", {"tasks": 0}),
    ("target-state-c", {"state": "PAUSED", "state.v2": "STOPPED"}),
    ("tasks-fencing-c", {"task-count": 0}),
)
"""What Kafka Connect leaves of a connector that was stopped, then had its offsets altered."""


def write_config_topic(group: Group) -> None:
    """Put those records where the group finds them when it starts."""
    topic = f"{group.name}-configs"
    with closing(group.backend.admin()) as admin, closing(group.backend.producer(None)) as producer:
        admin.create_topics([NewTopic(topic, 1, 1, COMPACTED)])
        for key, value in STOPPED_IN_CONNECT:
            producer.send(ProducerRecord(topic, json.dumps(value).encode(), key.encode(), partition=0))
        producer.flush(30.0)


def test_a_group_whose_task_count_record_says_0_starts(cluster):
    """FEN-01, FEN-13: there is no producer to fence; the new task count is still written."""
    group = Group(cluster)
    write_config_topic(group)
    with group:
        group.put(streams="2", until="20", batch="2", tasks_max="2")
        group.until_drained()

        assert group.committed() == exactly(2, 20)
        assert not [event for event in group.events if event.step is TaskStep.FENCE_ZOMBIES]
        counts = [event.detail["count"] for event in group.events if event.step is TaskStep.WRITE_TASK_COUNT]
        assert counts == [2]
