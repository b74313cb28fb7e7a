"""Step events as lines of JSON."""

from __future__ import annotations

import json
from typing import Any

from eosfw.errors import DamagedDataError
from eosfw.ids import ConnectorTaskId
from eosfw.state.steps import StepEvent, TaskStep


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
        task = facts.get("task")
        return StepEvent(
            step=TaskStep(facts["step"]),
            at=float(facts["at"]),
            wall=float(facts["wall"]),
            connector=str(facts["connector"]),
            task=None if task is None else ConnectorTaskId(str(facts["connector"]), int(task)),
            generation=facts.get("generation"),
            transactional_id=facts.get("transactional_id"),
            transaction=facts.get("transaction"),
            detail=facts.get("detail", {}),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as why:
        raise DamagedDataError(f"not a step event ({why!r}): {line[:120]!r}") from why


def _plain(fact: object) -> object:
    """A value for one that JSON does not have: a list for a set, the text for anything else."""
    if isinstance(fact, (set, frozenset)):
        return sorted(map(str, fact))
    return str(fact)
