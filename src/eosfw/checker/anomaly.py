"""Anomalies: what a history shows that must not be, by name, with the events that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from eosfw.checker.facts import Facts
from eosfw.checker.operation import Operation

MOST_EVENTS: Final = 10
"""How many events a witness has at the most: what a reader can hold in mind."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something that must not be, and the events that show it, in the order in which they happened."""

    name: str
    what: str
    """One sentence about this case."""
    witness: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """A search for one kind of anomaly, or for a few that are found together."""

    names: tuple[str, ...]
    needs: tuple[str, ...]
    """What a history must have for this search (`Facts.has`); without it to find nothing would show nothing."""
    run: Callable[[Facts], Iterator[Anomaly]]


def anomaly(name: str, what: str, witness: Iterable[Operation | None]) -> Anomaly:
    """An anomaly whose witness is cut to the first and last events, if there are too many."""
    events = sorted({event.i: event for event in witness if event is not None}.values(), key=lambda event: event.i)
    if len(events) > MOST_EVENTS:
        events = events[: MOST_EVENTS // 2] + events[-(MOST_EVENTS // 2) :]
    return Anomaly(name, what, tuple(events))
