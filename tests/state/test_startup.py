"""Whether a task may go on, at each check of its start and after each loss."""

from __future__ import annotations

import pytest

from eosfw.state.config_log import ConnectorEntry
from eosfw.state.loss import MOST_LOSSES, AfterLoss, after_loss
from eosfw.state.startup import Standing, standing, standing_before_init


@pytest.mark.parametrize(
    ("seen", "mine", "assigned", "wanted"),
    [
        (0, 0, True, Standing.OWNER),
        (3, 3, True, Standing.OWNER),
        (0, 0, False, Standing.UNASSIGNED),
        (1, 0, True, Standing.SUPERSEDED),
        (0, 1, True, Standing.SUPERSEDED),
        (None, 0, True, Standing.SUPERSEDED),
    ],
)
def test_an_equal_generation_that_is_assigned_owns(seen, mine, assigned, wanted):
    """FEN-10: equal (None is not 0) and still assigned."""
    assert standing(ConnectorEntry({}, seen), mine, assigned=assigned) is wanted


def test_nobody_owns_a_task_of_a_deleted_connector():
    """FEN-10, LOG-08: the generation outlives the connector; ownership does not."""
    assert standing(ConnectorEntry(None, 0), 0, assigned=True) is Standing.SUPERSEDED


def test_a_producer_needs_a_task_count_record_after_its_task_configs():
    """FEN-09 step 2, FEN-11."""
    pending = ConnectorEntry({}, 0, pending_fencing=True)

    assert standing_before_init(pending, 0, assigned=True) is Standing.UNFENCED
    assert standing_before_init(pending, 1, assigned=True) is Standing.SUPERSEDED
    assert standing(pending, 0, assigned=True) is Standing.OWNER


def test_a_producer_is_replaced_only_by_its_owner_and_boundedly():
    """A zombie stops at once, an owner is forgiven three times."""
    assert [after_loss(Standing.OWNER, n) for n in range(1, MOST_LOSSES + 2)] == [
        AfterLoss.START_OVER,
        AfterLoss.START_OVER,
        AfterLoss.START_OVER,
        AfterLoss.FAIL,
    ]
    assert after_loss(Standing.SUPERSEDED, 1) is AfterLoss.STOP_SUPERSEDED
    assert after_loss(Standing.UNASSIGNED, 1) is AfterLoss.STOP_SUPERSEDED
