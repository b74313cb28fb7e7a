"""The cause of a fencing by what the config topic, the coordinator and the task know."""

from __future__ import annotations

import pytest

from eosfw.state.fencing.producer_loss import FencingCause, fencing_cause
from eosfw.state.fencing.task_ownership import TaskOwnership

OWNER, SUPERSEDED = TaskOwnership.OWNER, TaskOwnership.SUPERSEDED


@pytest.mark.parametrize(
    ("ownership", "facts", "cause"),
    [
        (SUPERSEDED, {"expired", "taken", "overran"}, FencingCause.NEWER_GENERATION),
        (TaskOwnership.UNASSIGNED, set(), FencingCause.NEWER_GENERATION),
        (OWNER, {"expired", "overran"}, FencingCause.ID_EXPIRED),
        (OWNER, {"taken", "overran"}, FencingCause.OTHER_CLIENT),
        (OWNER, set(), FencingCause.OTHER_CLIENT),
        (OWNER, {"overran"}, FencingCause.TRANSACTION_TIMEOUT),
    ],
)
def test_each_cause_is_told_from_the_others(ownership: TaskOwnership, facts: set[str], cause: FencingCause) -> None:
    known = {name: name in facts for name in ("expired", "taken", "overran")}
    assert fencing_cause(ownership, **known) is cause
