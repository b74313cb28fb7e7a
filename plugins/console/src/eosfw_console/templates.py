"""The pages as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from eosfw_console.worker_client import connector_path

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("eosfw_console"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Templates do not change while a worker runs.
        auto_reload=False,
    )
    made.filters |= {
        "number": number,
        "duration": duration,
        "clock": clock,
        "segment": _segment,
        "connector": _connector,
    }
    # Not imported by each page: a block that is rendered alone sees no imports.
    made.globals["ui"] = made.get_template("macros.html").module
    return made


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """A whole page; every value is escaped."""
    return _environment().get_template(template).render(values)


def rendered_regions(template: str, regions: Sequence[str], values: Mapping[str, Any]) -> dict[str, str]:
    """Some blocks of a page, by name."""
    page = _environment().get_template(template)
    return {name: "".join(page.blocks[name](page.new_context(dict(values)))) for name in regions}


def number(value: float) -> str:
    """`12,345`, and `0.42` of what is small; `nan` and `inf` of what a plugin could not measure."""
    return f"{value:,.0f}" if value >= 10 or value % 1 == 0 else f"{value:.2f}"


def duration(seconds: float) -> str:
    """`42 s`, `3 min 20 s`, `2 h 5 min`: the two largest units."""
    left = max(0, round(seconds))
    parts = []
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    if left or not parts:
        parts.append(f"{left} s")
    return " ".join(parts[:2])


def clock(milliseconds: float) -> str:
    """A time of the day, in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%H:%M:%S")


def _segment(text: str) -> str:
    return quote(text, safe="")


def _connector(name: str) -> str:
    return "/ui" + connector_path(name)
