"""The worker group and all connectors, those with trouble first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from eosfw.observe import SEVERITY, severity, worst_state
from eosfw_console.connector_state import state_sentence
from eosfw_console.pages.page import Page, PageRequest, page_start

ROWS: Final = 50
"""Connectors on one page, so that a page of thousands is as small as one of fifty."""


def group_page(request: PageRequest) -> Page:
    """`/ui`: filtered by `name` and `state`, from the connector number `from` on."""
    group = request.client.get("/group")
    statuses = [one["status"] for one in request.client.get("/connectors?expand=status").values()]
    states = Counter(worst_state(one) for one in statuses)
    name, state = request.query.get("name", ""), request.query.get("state", "")
    found = [one for one in statuses if name.lower() in one["name"].lower() and state in ("", worst_state(one))]
    found.sort(key=lambda one: (severity(worst_state(one)), one["name"]))
    start = page_start(request.query.get("from", ""), len(found))
    return Page(
        "group.html",
        ("notices", "workers", "connectors"),
        {
            "group": group,
            "connector_count": len(statuses),
            "states": sorted(states.items(), key=lambda one: severity(one[0])),
            "rows": [_row(one, group["moving"]) for one in found[start : start + ROWS]],
            "start": start,
            "found": len(found),
            "before": max(0, start - ROWS) if start else None,
            "after": start + ROWS if start + ROWS < len(found) else None,
            "all_states": SEVERITY,
            "name": name,
            "state": state,
        },
    )


def _row(status: Mapping[str, Any], moving: list[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "name": status["name"],
        "state": worst_state(status),
        "tasks": len(status["tasks"]),
        "sentence": state_sentence(status, moving),
    }
