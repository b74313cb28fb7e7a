"""The committed source offsets of a connector, which can be changed while it is stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from eosfw_console.offset_changes import OffsetChange, digest, effect, offset_text
from eosfw_console.pages.page import Page, PageRequest, page_start
from eosfw_console.worker_client import WorkerClient, connector_path, connector_status

ROWS: Final = 50
"""Source partitions on one page, so that their form stays small."""
FIELD: Final = "offset:"
"""Before the text of a source partition in the name of its field."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What a page says about the form that came before it."""

    done: str | None = None
    problem: str | None = None
    typed: Mapping[str, str] = field(default_factory=dict)
    """By the text of the source partition."""
    errors: Mapping[str, str] = field(default_factory=dict)
    status: int = 200


_NO_REMARK: Final = Remark()


def offsets_page(request: PageRequest) -> Page:
    """`/ui/connectors/{connector}/offsets`, from the source partition number `from` on."""
    return page_with_remark(request, request.query.get("from", ""), _NO_REMARK)


def page_with_remark(request: PageRequest, start_text: str, remark: Remark) -> Page:
    """The same, after a form."""
    name = request.parameters["connector"]
    offsets = committed_offsets(request.client, name)
    start = page_start(start_text, len(offsets))
    rows = [_row(one, remark) for one in offsets[start : start + ROWS]]
    return Page(
        "offsets.html",
        (),
        {
            "connector": name,
            "stopped": connector_status(request.client, name)["connector"]["state"] == "STOPPED",
            "rows": rows,
            "start": start,
            "found": len(offsets),
            "before": max(0, start - ROWS) if start else None,
            "after": start + ROWS if start + ROWS < len(offsets) else None,
            "seen": digest(offsets),
            "remark": remark,
        },
        remark.status,
    )


def preview_page(connector: str, changes: Sequence[OffsetChange], seen: str, *, reset: bool) -> Page:
    """What a change will do, before anything is changed; `seen` stands for the offsets that it starts from."""
    shown = [
        {
            "partition": offset_text(one.partition),
            "old": offset_text(one.old),
            "new": None if one.new is None else offset_text(one.new),
            "effect": effect(one),
        }
        for one in changes[:ROWS]
    ]
    body = [] if reset else [{"partition": one.partition, "offset": one.new} for one in changes]
    values = {
        "connector": connector,
        "changes": shown,
        "count": len(changes),
        "seen": seen,
        "reset": reset,
        "body": offset_text(body),
    }
    return Page("offsets_preview.html", (), values)


def committed_offsets(client: WorkerClient, connector: str) -> list[Mapping[str, Any]]:
    """All offsets of a connector, in the order of their source partitions."""
    found = client.get(connector_path(connector, "offsets"))["offsets"]
    return sorted(found, key=lambda one: offset_text(one["partition"]))


def _row(one: Mapping[str, Any], remark: Remark) -> dict[str, Any]:
    partition, offset = offset_text(one["partition"]), offset_text(one["offset"])
    return {
        "partition": partition,
        "field": FIELD + partition,
        "offset": offset,
        "text": remark.typed.get(partition, offset),
        "error": remark.errors.get(partition),
    }
