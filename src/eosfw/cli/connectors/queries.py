"""Rows about connectors and their tasks, from a worker's REST interface."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from eosfw.cli.connectors.client import RestClient

Row = Mapping[str, Any]


def connector_rows(client: RestClient) -> Sequence[Row]:
    """A row for each connector of the group, by name."""
    # One request, or a connector that is deleted in between would be missing.
    found = client.get("connectors", expand="status")
    return [_connector_row(each["status"]) for _, each in sorted(found.items())]


def _connector_row(status: Mapping[str, Any]) -> Row:
    states = Counter(str(task["state"]) for task in status["tasks"])
    return {
        "connector": status["name"],
        "type": status.get("type", "source"),
        "state": status["connector"]["state"],
        "tasks": [f"{count} {state}" for state, count in sorted(states.items())],
        "worker": status["connector"]["worker_id"],
    }


def status_rows(status: Mapping[str, Any]) -> Sequence[Row]:
    """A row for the connector, then one for each task; the reason of a failure in one line."""
    tasks = sorted(status["tasks"], key=lambda task: int(task["id"]))
    return [
        _state_row(status["name"], status["connector"]),
        *(_state_row(f"{status['name']}-{task['id']}", task) for task in tasks),
    ]


def _state_row(name: str, state: Mapping[str, Any]) -> Row:
    reason = str(state.get("trace") or "").strip()
    return {
        "name": name,
        "state": state["state"],
        "worker": state["worker_id"],
        "reason": reason.splitlines()[0] if reason else None,
    }
