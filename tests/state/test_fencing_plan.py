"""Which transactional ids must be fenced before a generation starts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.ids import ConnectorTaskId, leader_transactional_id, task_transactional_id
from eosfw.state.fencing.plan import FencingPlan, ids_to_fence, plan_fencing
from eosfw.state.storage.config_log import ConnectorEntry


def entry(*, pending: bool = True, recorded: int | None, tasks: int) -> ConnectorEntry:
    return ConnectorEntry({}, 1, ({},) * tasks, task_count_record=recorded, pending_fencing=pending)


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [
        (entry(pending=False, recorded=12, tasks=12), FencingPlan.NOTHING),
        (entry(pending=False, recorded=None, tasks=1), FencingPlan.NOTHING),
        (entry(recorded=None, tasks=5), FencingPlan.FIRST_TASKS),
        (entry(recorded=None, tasks=0), FencingPlan.FIRST_TASKS),
        (entry(recorded=1, tasks=1), FencingPlan.LONE_TASK),
        (entry(recorded=1, tasks=2), FencingPlan.FENCE),
        (entry(recorded=2, tasks=1), FencingPlan.FENCE),
        (entry(recorded=1, tasks=0), FencingPlan.FENCE),
        (entry(recorded=0, tasks=1), FencingPlan.FIRST_TASKS),
        (entry(recorded=0, tasks=0), FencingPlan.FIRST_TASKS),
        (entry(recorded=3, tasks=3), FencingPlan.FENCE),
    ],
)
def test_a_fencing_round_is_needed_when_kafka_needs_one(seen, wanted):
    """FEN-01, FEN-13: all cases of the decision; for a count of 0 Kafka runs a round that fences no id."""
    assert plan_fencing(seen) is wanted
    assert (wanted.skip_reason is None) is (wanted is FencingPlan.FENCE)


def test_the_victims_are_the_old_count_not_the_new():
    """FEN-01: ids 0 to the recorded count minus one, whatever comes next."""
    assert ids_to_fence("g", "c", entry(recorded=3, tasks=1)) == ("g-c-0", "g-c-1", "g-c-2")
    assert ids_to_fence("g", "c", entry(recorded=0, tasks=5)) == ()


CONNECTORS = st.text("ab-0123456789", min_size=1, max_size=8)


@given(CONNECTORS, st.integers(0, 999), CONNECTORS, st.integers(0, 999), st.text("abcnet-", min_size=1, max_size=8))
def test_no_two_tasks_of_a_group_share_a_transactional_id(one, first, other, second, group):
    """TXN-01: the number behind the last dash is the task's, so names that end in numbers cannot collide."""
    a, b = ConnectorTaskId(one, first), ConnectorTaskId(other, second)

    assert (task_transactional_id(group, a) == task_transactional_id(group, b)) == (a == b)
    assert task_transactional_id(group, a) != leader_transactional_id(group)
