"""Without exactly-once the same zombie causes duplicates."""

from __future__ import annotations

from collections import Counter

from eosfw.state.steps import TaskStep

from .group import Group, exactly


def test_without_exactly_once_the_same_zombie_repeats_records(cluster):
    """CFG-01, the contrast: nothing fences, so what the zombie sends counts; nothing is lost."""
    with Group(cluster, exactly_once_source_support="disabled") as group:
        given = {"streams": "1", "until": "40", "batch": "4"}
        group.wake_replaced(TaskStep.SEND, given, given, task=0, nth=3)
        group.worker.stop(10.0)

        counts = Counter(group.committed())
        assert sorted(counts) == exactly(1, 40)
        assert max(counts.values()) > 1
        assert not [event for event in group.events if event.step in (TaskStep.FENCED, TaskStep.FENCE_ZOMBIES)]
