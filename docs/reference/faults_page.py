"""Write docs/reference/faults.md from the faults themselves; a test finds the page out of date."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path

from eosfw_memory.faults import Fault, Rule
from eosfw_memory.faults.points import WRITES, requests
from eosfw_memory.faults.rules import KINDS

PAGE = Path(__file__).with_name("faults.md")
HEAD = """# Faults

What the embedded broker can be told to do wrong, for tests. The names are the same in the fixture `faults` of
pytest-eos, in `EmbeddedCluster(...).faults.add(...)`, and in the file of `eosfw broker --faults FILE`.
[Test with faults of the broker](../how-to/test-with-faults.md) shows their use. This page is made from the code by
`python docs/reference/faults_page.py`.
"""
SHARED = """## When, to whom

Every kind takes these, too. A fault counts only what they let through.

| field | default | meaning |
|---|---|---|
| `nth` | `1` | trigger at the nth request, or point, of the kind |
| `times` | `1` | trigger so often, one after the other |
| `client_id` | anybody | only requests of this client; calls within the process have none |
| `transactional_id` | any | only what is about this transactional id |
| `group_id` | any | only what is about this consumer group |
| `topic` | any | only what is about this topic |
| `only` | always | only where this function, called on the thread of the sender, returns true; in Python alone |
"""
_SHARED = {"nth", "times", "client_id", "transactional_id", "group_id", "topic", "only"}


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_kinds(), SHARED, *_points(), *_requests(), *_handle()])


def _kinds() -> Iterator[str]:
    yield "## Kinds\n"
    yield "| kind | fields | what happens |"
    yield "|---|---|---|"
    for name, kind in KINDS.items():
        yield f"| `{name}` | {', '.join(_fields(kind))} | {_prose(kind)} |"
    yield ""


def _fields(kind: type[Rule]) -> Iterator[str]:
    own = [field for field in fields(kind) if field.name not in _SHARED]
    for field in own:
        given = "" if field.default in (MISSING, None) else f" = {field.default}"
        yield f"`{field.name}{given}`"


def _points() -> Iterator[str]:
    yield "## Points\n"
    yield "`before-` or `after-`, and one of these. A request's name stands for itself: `before-EndTxn` is before it"
    yield "has any effect, `after-EndTxn` is after its effect, before its answer.\n"
    yield "| write | when |"
    yield "|---|---|"
    for name, meaning in WRITES.items():
        yield f"| `{name}` | {meaning} |"
    yield ""


def _requests() -> Iterator[str]:
    yield "## Requests\n"
    yield "By their names in Kafka's protocol; `any` is every one of them.\n"
    yield from (f"- `{name}`" for name in requests())
    yield ""


def _handle() -> Iterator[str]:
    yield "## What `add` returns\n"
    yield f"{_prose(Fault)}\n"
    yield "| member | is |"
    yield "|---|---|"
    yield "| `firings` | every time it struck: when, by the broker's clock, and whom |"
    yield "| `answers` | what the broker answered to each copy of a repeated request |"
    for name in ("fired", "await_fired", "release"):
        yield f"| `{name}` | {_prose(getattr(Fault, name))} |"
    yield ""


def _prose(documented: object) -> str:
    """A docstring as one paragraph."""
    return " ".join((inspect.getdoc(documented) or "").split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
