"""States of connectors and tasks by Connect's names, those to look at first in front."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["SEVERITY", "severity", "worst_state"]

SEVERITY: Final = ("FAILED", "UNASSIGNED", "RESTARTING", "STOPPED", "PAUSED", "RUNNING")
"""The states, the worst one first."""


def severity(state: str) -> int:
    """How far behind the worst one a state is; one that is unknown here comes first."""
    return SEVERITY.index(state) if state in SEVERITY else -1


def worst_state(status: Mapping[str, Any]) -> str:
    """The state to show for a connector with its tasks, from what `GET /connectors/NAME/status` answers."""
    states: list[str] = [status["connector"]["state"], *(task["state"] for task in status["tasks"])]
    return min(states, key=severity)
