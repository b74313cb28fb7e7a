"""What came of a check, as lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from eosfw.checker.checking import CheckedHistory
from eosfw.checker.operation import Operation, operation_to_json
from eosfw.text import quantity, readable

_BEFORE_FIELDS: Final = ("i", "t", "proc", "op", "type")


def report_lines(checked: CheckedHistory) -> Iterator[str]:
    """Each anomaly with its events, why nothing is shown, and in the last line the judgement."""
    for found in checked.anomalies:
        yield f"{found.name}: {found.what}"
        yield from (f"    {_event(event)}" for event in found.witness)
    yield from (f"nothing shown: {gap}" for gap in checked.gaps)
    if checked.not_looked_for:
        yield f"not looked for, since the history lacks what shows it: {', '.join(checked.not_looked_for)}"
    yield (
        f"{checked.judgement.value}: {quantity(checked.committed, 'committed transaction')}, "
        f"{quantity(checked.records, 'visible record')}, anomalies: {len(checked.anomalies):,}"
    )


def _event(event: Operation) -> str:
    """An event as a person reads it: number, time, who, what, then the fields that say something."""
    facts = json.loads(operation_to_json(event))
    shown = " ".join(f"{name}={_brief(fact)}" for name, fact in facts.items() if name not in _BEFORE_FIELDS)
    return f"{event.i:>7} {event.t:>10.3f} {event.proc}: {event.op} {event.type} {shown}".rstrip()


def _brief(fact: object) -> str:
    return readable(fact if isinstance(fact, str) else json.dumps(fact))
