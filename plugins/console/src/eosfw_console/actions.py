"""What an operator can do with a connector, and what it will do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from eosfw_console.worker_client import WorkerClient, connector_path


@dataclass(frozen=True, slots=True)
class Action:
    """A request to the REST interface behind a button."""

    name: str
    label: str
    effect: str
    """What it will do, for the operator who is about to."""
    method: str
    segments: tuple[str, ...]
    query: str = ""

    def perform(self, client: WorkerClient, connector: str) -> None:
        """Send the request; RestError if it is refused."""
        client.change(self.method, connector_path(connector, *self.segments) + self.query)


PAUSE: Final = Action(
    "pause", "Pause", "Its tasks commit what is open, keep their workers and poll nothing.", "PUT", ("pause",)
)
RESUME: Final = Action("resume", "Resume", "It goes on from its committed offsets.", "PUT", ("resume",))
STOP: Final = Action(
    "stop",
    "Stop",
    "Its tasks commit what is open and end. Its offsets stay and can be changed while it is stopped.",
    "PUT",
    ("stop",),
)
RESTART: Final = Action(
    "restart",
    "Restart",
    "The connector and all its tasks start anew. New producers fence the old ones, so nothing is written twice.",
    "POST",
    ("restart",),
    "?includeTasks=true",
)
RESTART_FAILED: Final = Action(
    "restart-failed",
    "Restart what failed",
    "The connector, if it failed, and its failed tasks start anew; the others go on.",
    "POST",
    ("restart",),
    "?includeTasks=true&onlyFailed=true",
)
_ALL: Final = {one.name: one for one in (RESTART_FAILED, PAUSE, RESUME, STOP, RESTART)}


def possible_actions(status: Mapping[str, Any]) -> Sequence[Action]:
    """What makes sense in a state, the likeliest one first."""
    state = status["connector"]["state"]
    if state == "STOPPED":
        return [RESUME]
    if state == "PAUSED":
        return [RESUME, STOP]
    failed = state == "FAILED" or any(task["state"] == "FAILED" for task in status["tasks"])
    return [*([RESTART_FAILED] if failed else []), PAUSE, STOP, RESTART]


def action_named(name: str) -> Action | None:
    """The action of a form; None for a name that is unknown."""
    return _ALL.get(name)
