"""The state of a connector, in a sentence that says why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from eosfw.text import error_line, quantity

_BY_OPERATOR: Final = {
    "STOPPED": "It was stopped: it has no tasks, its offsets stay and can be changed. Resume it to go on from them.",
    "PAUSED": "It was paused: its tasks keep their workers and poll nothing. Resume it to go on.",
}


def state_sentence(status: Mapping[str, Any], moving: Sequence[Mapping[str, Any]] = ()) -> str:
    """Why a connector writes or does not write."""
    own, tasks = status["connector"], status["tasks"]
    failed = [task for task in tasks if task["state"] == "FAILED"]
    if own["state"] == "FAILED":
        return _failed("The connector", own)
    if failed:
        others = "" if len(failed) == 1 else f" {quantity(len(failed) - 1, 'more task')} failed."
        return _failed(f"Task {failed[0]['id']}", failed[0]) + others
    if own["state"] in _BY_OPERATOR:
        return _BY_OPERATOR[own["state"]]
    return _running(status["name"], tasks, moving)


def _running(name: str, tasks: Sequence[Mapping[str, Any]], moving: Sequence[Mapping[str, Any]]) -> str:
    waiting = [one["id"]["task"] for one in moving if one["id"]["connector"] == name]
    if waiting:
        return f"{_tasks(waiting)} on the way to another worker; the others run."
    if unassigned := [task["id"] for task in tasks if task["state"] == "UNASSIGNED"]:
        return f"{_tasks(unassigned)} without a worker; the group gives them one when it is in balance."
    if tasks and all(task["state"] == "STOPPED" for task in tasks):
        # Of a run alone: a group says so of connectors, and gives each task of one that runs to a worker.
        return "Its tasks have ended with the run; the next run goes on from its offsets."
    if not tasks:
        return "It runs, but it has no task: its source has nothing to read, or its tasks are being made."
    return f"It runs, with {quantity(len(tasks), 'task')}."


def _failed(who: str, state: Mapping[str, Any]) -> str:
    reason = error_line(state.get("trace")) or "it gave no reason"
    return f"{who} failed on {state['worker_id']}: {reason.rstrip('.')}. Restart it once the cause is gone."


def _tasks(numbers: Iterable[int]) -> str:
    found = [str(one) for one in sorted(numbers)]
    return f"Task {found[0]} is" if len(found) == 1 else f"Tasks {', '.join(found)} are"
