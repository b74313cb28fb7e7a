"""A planted bug: a task that does not look, behind its initialisation, whether it still owns its share (FEN-09)."""

from __future__ import annotations

import pytest

from eosfw.runtime.tasks.startup import TaskStartup
from eosfw.state.steps import TaskStep


def leave_out_check_after_init(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have tasks check their ownership before they initialise alone, until the test ends."""
    checked = TaskStartup._refuse_unless_owner

    def unless_after_init(self, *check):
        if self._recorder.snapshot().step is not TaskStep.CHECK_OWNERSHIP:
            checked(self, *check)

    monkeypatch.setattr(TaskStartup, "_refuse_unless_owner", unless_after_init)
