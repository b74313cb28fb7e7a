"""Operations of a history as they are written down: what they say first, their numbers at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from eosfw.checker import Operation

Fields = dict[str, Any]
"""The fields of an operation that say something, but for its number: they are known when all operations are."""


def operation(proc: str, op: str, kind: str = "ok", **facts: Any) -> Fields:
    """An operation that was seen or ended, or another `kind`."""
    return {"proc": proc, "op": op, "type": kind, **facts}


def numbered(facts: Iterable[Fields]) -> Iterator[Operation]:
    """The operations by their places; what is read at the end comes at the time of the last step."""
    time = 0.0
    for number, each in enumerate(facts):
        time = max(time, each.get("t", time))
        each["i"], each["t"] = number, time
        yield Operation(**each)
