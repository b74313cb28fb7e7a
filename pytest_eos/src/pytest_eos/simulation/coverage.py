"""Count which faults happened in simulated runs, and which rare states were reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_eos.simulation.rare_states import Reached
    from pytest_eos.simulation.seeds import Played


@dataclass(slots=True)
class Coverage:
    """What the runs of a session have seen."""

    seeds: int = 0
    events: int = 0
    drawn: Counter[str] = field(default_factory=Counter)
    """How many faults of each kind were drawn."""
    fired: Counter[str] = field(default_factory=Counter)
    """How many of them happened: the others waited for something that did not come by."""
    states: Counter[str] = field(default_factory=Counter)
    """In how many runs each rare state was reached."""

    def add_run(self, played: Played, states: Mapping[str, Reached] | None = None) -> None:
        """Count one run; the rare states are those of a group of workers, or others."""
        from pytest_eos.simulation.rare_states import RARE_STATES

        self.seeds += 1
        self.events += played.trace.events
        for number, fault in played.plan.active.items():
            self.drawn[fault.kind] += 1
            self.fired[fault.kind] += number in played.fired
        events = played.harness.history.events()
        for name, reached in (states or RARE_STATES).items():
            self.states[name] += reached(played, events)

    def add(self, other: Mapping[str, Any]) -> None:
        """Add what another process has counted."""
        self.seeds += other["seeds"]
        self.events += other["events"]
        for name in ("drawn", "fired", "states"):
            getattr(self, name).update(other[name])

    def as_json(self) -> dict[str, Any]:
        """The counts as JSON takes them."""
        counts = {name: dict(getattr(self, name)) for name in ("drawn", "fired", "states")}
        return {"seeds": self.seeds, "events": self.events, **counts}

    def lines(self) -> Iterator[str]:
        """The counts as a table."""
        yield f"{self.seeds:,} seeds, {self.events:,} events"
        yield f"{'fault':<58}{'drawn':>10}{'happened':>10}"
        for kind, drawn in sorted(self.drawn.items()):
            yield f"{kind:<58}{drawn:>10,}{self.fired[kind]:>10,}"
        yield f"{'rare state':<58}{'seeds':>10}"
        for name, reached in self.states.items():
            yield f"{name:<58}{reached:>10,}" + ("" if reached else "  never reached")
