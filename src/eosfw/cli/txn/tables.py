"""Show rows as a table, or as one JSON object."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_NONE = "-"
_FEW = 4
"""How many parts of a value a line of a table shows."""


def as_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """One object: every row under `transactions`."""
    return json.dumps({"transactions": rows})


def as_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line per row under a heading; nothing at all where there is none."""
    if not rows:
        return ""
    lines = [[name.replace("_", " ").upper() for name in rows[0]]]
    lines += [[_brief(value) for value in row.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def as_paragraphs(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line per fact, a blank line between rows."""
    width = max((len(name) for row in rows for name in row), default=0)
    return "\n\n".join(
        "\n".join(f"{name.replace('_', ' '):{width}}  {_text(value)}".rstrip() for name, value in row.items())
        for row in rows
    )


def _brief(value: Any) -> str:
    if isinstance(value, list) and len(value) > _FEW:
        return f"{_text(value[:_FEW])}, ... ({len(value):,} in all)"
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value)) or _NONE
    if isinstance(value, dict):
        first, *rest = value.items()
        more = ", ".join(f"{name.replace('_', ' ')} {_text(each)}" for name, each in rest)
        return f"{first[1]} ({more})" if more else str(first[1])
    return _NONE if value is None else str(value)
