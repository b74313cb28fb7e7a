"""Step events as lines of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from eosfw.errors import DamagedDataError
from eosfw.ids import ConnectorTaskId
from eosfw.state.steps import StepEvent, TaskStep

_FIELDS: Final[Mapping[str, type]] = {
    "step": str,
    "at": float,
    "wall": float,
    "connector": str,
    "task": int,
    "generation": int,
    "transactional_id": str,
    "transaction": int,
    "detail": dict,
}


def event_to_json(event: StepEvent) -> str:
    """An event as one line without a newline; fields that are None are left out."""
    facts = {
        "step": event.step.value,
        "at": event.at,
        "wall": event.wall,
        "connector": event.connector,
        "task": None if event.task is None else event.task.task,
        "generation": event.generation,
        "transactional_id": event.transactional_id,
        "transaction": event.transaction,
        "detail": dict(event.detail) or None,
    }
    given = {name: fact for name, fact in facts.items() if fact is not None}
    return json.dumps(given, separators=(",", ":"), ensure_ascii=False, default=_plain)


def event_from_json(line: str) -> StepEvent:
    """The event of a line; DamagedDataError if the line is no event."""
    try:
        facts: dict[str, Any] = json.loads(line)
        given = {name: _checked(name, fact) for name, fact in facts.items()}
        given["step"] = TaskStep(given["step"])
        if "task" in given:
            given["task"] = ConnectorTaskId(given["connector"], given["task"])
        return StepEvent(**given)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as why:
        raise DamagedDataError(f"not a step event ({why!r}): {line[:120]!r}") from why


def _checked(name: str, fact: Any) -> Any:
    """The fact if it has the type of its field; a history of another version must not be taken for one of this."""
    kind = _FIELDS[name]  # KeyError for a field that this version does not know
    number = fact if kind is float and type(fact) is int else None
    if type(fact) is not kind and number is None:
        raise TypeError(f"{name} is {type(fact).__name__}, not {kind.__name__}")
    if kind in (int, float) and not (math.isfinite(fact) and fact >= 0):
        raise ValueError(f"{name} is {fact}")
    return fact if number is None else float(number)


def _plain(fact: object) -> object:
    """A value for one that JSON does not have: a list for a set, the text for anything else."""
    if isinstance(fact, (set, frozenset)):
        return sorted(map(str, fact))
    return str(fact)
