"""Decide what a change of a connector's source offsets would change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from eosfw.cli.connectors.json_files import Offset

Row = Mapping[str, Any]


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
