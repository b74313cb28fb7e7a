"""The text of a fault, in logs and failed tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw_memory.faults.matching import Firing, Occurrence
    from eosfw_memory.faults.rules import Rule

_WHOM = ("client_id", "transactional_id", "group_id", "topic")


def rule_text(rule: Rule) -> str:
    """What a rule asks for: `lose EndTxn, 2nd, transactional_id=orders-0`."""
    what: Any = next(found for name in ("request", "at", "on") if (found := getattr(rule, name, None)) is not None)
    which = "every" if rule.nth == 1 and rule.times >= 2**31 - 1 else _ordinals(rule.nth, rule.times)
    whom = [f"{name}={value}" for name in _WHOM if (value := getattr(rule, name)) is not None]
    return ", ".join([f"{rule.kind} {what}", which, *whom])


def status_text(rule: Rule, seen: int, firings: Sequence[Firing]) -> str:
    """When a fault happened and to which requests; if it did not, how many occurrences matched."""
    if firings:
        return "; ".join(map(firing_text, firings))
    if seen:
        return f"never fired: only {seen} of the {rule.nth} it waits for came by"
    return "never fired: nothing of the kind came by"


def firing_text(firing: Firing) -> str:
    """When a fault happened, and to which request."""
    when = datetime.fromtimestamp(firing.at_ms / 1000, UTC)
    return f"fired at {when:%H:%M:%S}.{firing.at_ms % 1000:03} ({_occurrence_text(firing.occurrence)})"


def _occurrence_text(occurrence: Occurrence) -> str:
    known = {
        "client": (occurrence.client_id,) if occurrence.client_id else (),
        "transactional id": occurrence.transactional_ids,
        "group": occurrence.group_ids,
        "topic": occurrence.topics,
    }
    whom = [f"{name} {', '.join(dict.fromkeys(values))}" for name, values in known.items() if values]
    return "; ".join([occurrence.what, *whom])


def _ordinals(nth: int, times: int) -> str:
    return _ordinal(nth) if times == 1 else f"{_ordinal(nth)} to {_ordinal(nth + times - 1)}"


def _ordinal(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
