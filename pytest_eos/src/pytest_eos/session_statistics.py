"""Count what the exactly-once tests of a session did, over all of its processes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import pytest


@dataclass(slots=True)
class SessionStatistics:
    """What goes into the terminal summary."""

    zombies: int = 0
    """Zombies that were frozen and woken, or killed."""
    fenced: int = 0
    """Those of them that met a fencing error."""
    stopped: int = 0
    """Those that found themselves superseded, or were told to stop, before they wrote again."""
    killed: int = 0
    """Processes that were ended on the spot."""
    duplicates: int = 0
    missing: int = 0
    skipped: list[str] = field(default_factory=list)
    """Why something that was asked for could not be had."""

    removed: list[str] = field(default_factory=list)
    """What became of what tests made on a running cluster."""

    def add(self, other: dict[str, object]) -> None:
        """Add what another process counted."""
        for name, value in other.items():
            setattr(self, name, getattr(self, name) + value)

    def as_dict(self) -> dict[str, object]:
        """Plain values, to be sent between processes."""
        return asdict(self)

    def lines(self) -> list[str]:
        """What to tell the user; nothing when nothing happened."""
        lines = []
        if self.zombies:
            killed = f", {self.killed} killed" if self.killed else ""
            lines.append(
                f"zombies: {self.zombies} raised, {self.fenced} fenced, {self.stopped} stopped by themselves{killed}"
            )
        if self.duplicates or self.missing:
            from eosfw.text import quantity

            lines.append(f"found: {quantity(self.duplicates, 'duplicate')}, {self.missing:,} missing")
        lines += [f"skipped: {reason}" for reason in dict.fromkeys(self.skipped)]
        return lines + self.removed


STATISTICS = pytest.StashKey[SessionStatistics]()
