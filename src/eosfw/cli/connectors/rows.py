"""Rows about connectors, their tasks and source offsets, from a worker's REST interface."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from eosfw.cli.connectors.client import RestClient
from eosfw.cli.connectors.json_files import Offset
from eosfw.text import error_line

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
    return {
        "name": name,
        "state": state["state"],
        "worker": state["worker_id"],
        "reason": error_line(state.get("trace")) or None,
    }


def changed_offsets(before: Sequence[Offset], wanted: Sequence[Offset]) -> Sequence[Row]:
    """A row for each source partition that would change, with its offset before and after."""
    old = {_key(one): one.get("offset") for one in before}
    rows = []
    for one in wanted:
        now, then = old.get(_key(one)), one.get("offset")
        if now != then:
            rows.append({"partition": _key(one), "before": _shown(now), "after": _shown(then)})
    return rows


def reset_offsets(before: Sequence[Offset]) -> Sequence[Row]:
    """The rows of a reset: every offset is deleted."""
    return changed_offsets(before, [{"partition": one["partition"], "offset": None} for one in before])


def offset_rows(offsets: Sequence[Offset]) -> Sequence[Row]:
    """A row for each source partition with its offset."""
    return [{"partition": _key(one), "offset": _shown(one.get("offset"))} for one in offsets]


def _key(one: Offset) -> str:
    return json.dumps(one["partition"], sort_keys=True, ensure_ascii=False)


def _shown(offset: Mapping[str, Any] | None) -> str | None:
    return None if offset is None else json.dumps(offset, sort_keys=True, ensure_ascii=False)
