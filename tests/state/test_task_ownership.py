"""Whether a task may go on, at each check of its start and after each loss."""

from __future__ import annotations

import pytest

from eosfw.state.fencing.producer_loss import MOST_LOSSES, ProducerLossDecision, decide_after_producer_loss
from eosfw.state.fencing.task_ownership import TaskOwnership, ownership_before_init, task_ownership
from eosfw.state.storage.config_log import ConnectorEntry


@pytest.mark.parametrize(
    ("seen", "mine", "assigned", "wanted"),
    [
        (0, 0, True, TaskOwnership.OWNER),
        (1000, int("1000"), True, TaskOwnership.OWNER),
        (0, 0, False, TaskOwnership.UNASSIGNED),
        (1, 0, True, TaskOwnership.SUPERSEDED),
        (0, 1, True, TaskOwnership.SUPERSEDED),
        (None, 0, True, TaskOwnership.SUPERSEDED),
    ],
)
def test_an_equal_generation_that_is_assigned_owns(seen, mine, assigned, wanted):
    """FEN-10: equal (None is not 0) and still assigned."""
    assert task_ownership(ConnectorEntry({}, seen, applied_properties={}), mine, assigned=assigned) is wanted


def test_tasks_of_a_deleted_connector_have_no_owner():
    """FEN-10, LOG-08: the generation outlives the connector; ownership does not."""
    assert task_ownership(ConnectorEntry(None, 0), 0, assigned=True) is TaskOwnership.SUPERSEDED


def test_tasks_of_a_connector_created_anew_have_no_owner():
    """FEN-10: the generation is that of the deleted connector until the new one has tasks."""
    anew = ConnectorEntry({}, 0)

    assert task_ownership(anew, 0, assigned=True) is TaskOwnership.SUPERSEDED


def test_a_producer_needs_a_task_count_record_after_its_task_configs():
    """FEN-09 step 2, FEN-11."""
    pending = ConnectorEntry({}, 0, applied_properties={}, pending_fencing=True)

    assert ownership_before_init(pending, 0, assigned=True) is TaskOwnership.UNFENCED
    assert ownership_before_init(pending, 1, assigned=True) is TaskOwnership.SUPERSEDED
    assert task_ownership(pending, 0, assigned=True) is TaskOwnership.OWNER


def test_a_producer_is_replaced_only_by_its_owner_and_boundedly():
    """A zombie stops at once, an owner is forgiven three times."""
    assert [decide_after_producer_loss(TaskOwnership.OWNER, n) for n in range(1, MOST_LOSSES + 2)] == [
        ProducerLossDecision.START_OVER,
        ProducerLossDecision.START_OVER,
        ProducerLossDecision.START_OVER,
        ProducerLossDecision.FAIL,
    ]
    assert decide_after_producer_loss(TaskOwnership.SUPERSEDED, 1) is ProducerLossDecision.STOP_SUPERSEDED
    assert decide_after_producer_loss(TaskOwnership.UNASSIGNED, 1) is ProducerLossDecision.STOP_SUPERSEDED
