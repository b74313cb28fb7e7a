"""The first difference between two lists of records or of task configs, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import zip_longest
from typing import Any

from eosfw.records import SourceRecord

_READABLE = 200
_WHY = {
    "timestamp": "a timestamp must come from the source, not from the clock of the task",
    "source_partition": "a source partition must be the same whenever, and by whichever task, it is read",
}
"""What an author should know of a field that differs."""


def first_difference(due: Sequence[object], given: Sequence[object]) -> str:
    """The first index at which two lists differ, as text."""
    pairs = enumerate(zip_longest(due, given, fillvalue="nothing"))
    at, here, there = next((at, *pair) for at, pair in pairs if pair[0] != pair[1])
    # Value and source offset tell records apart for a reader; where they agree, something else differs.
    if readable(here) == readable(there) and isinstance(here, SourceRecord) and isinstance(there, SourceRecord):
        return f"number {at}, {readable(here)}, {_differing_field(here, there)}"
    return f"number {at} is {readable(there)}, not {readable(here)}"


def readable(one: object) -> str:
    """A record by its value and source offset, or the start of another object's text."""
    if isinstance(one, SourceRecord):
        return f"{one.value!r:.60} at {dict(one.source_offset)}"
    return str(one)[:_READABLE]


def _differing_field(here: SourceRecord, there: SourceRecord) -> str:
    name = next(field.name for field in fields(here) if getattr(here, field.name) != getattr(there, field.name))
    first, second = (_shown(getattr(one, name)) for one in (here, there))
    why = f": {_WHY[name]}" if name in _WHY else ""
    return f"has the {name} {second}, not {first}{why}"


def _shown(value: Any) -> str:
    return f"{value!r:.120}"
