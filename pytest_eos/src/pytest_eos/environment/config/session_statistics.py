"""Statistics of the exactly-once tests of a session, over all of its processes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pytest


@dataclass(slots=True)
class SessionStatistics:
    """The numbers of the terminal summary."""

    zombies: int = 0
    """Zombies that were frozen and woken, or killed."""
    fenced: int = 0
    """Those of them that met a fencing error."""
    stopped: int = 0
    """Those that were superseded or stopped before they wrote again."""
    killed: int = 0
    """Processes that were killed by SIGKILL."""
    duplicates: int = 0
    missing: int = 0
    unexpected: int = 0
    """Records that nobody expects."""
    skipped: list[str] = field(default_factory=list)
    """The reasons why tests were skipped."""

    removed: list[str] = field(default_factory=list)
    """What the cleanup of running clusters removed or left."""

    def add(self, other: dict[str, object]) -> None:
        """Add the numbers of another process."""
        for name, value in other.items():
            setattr(self, name, getattr(self, name) + value)

    def lines(self) -> list[str]:
        """The lines of the summary; none if nothing happened."""
        lines = []
        if self.zombies:
            killed = f", {self.killed} killed" if self.killed else ""
            lines.append(
                f"zombies: {self.zombies} raised, {self.fenced} fenced, {self.stopped} stopped by themselves{killed}"
            )
        if self.duplicates or self.missing or self.unexpected:
            from eosfw.text import quantity

            more = f", {self.unexpected:,} unexpected" if self.unexpected else ""
            lines.append(f"found: {quantity(self.duplicates, 'duplicate')}, {self.missing:,} missing{more}")
        lines += [f"skipped: {reason}" for reason in dict.fromkeys(self.skipped)]
        return lines + self.removed


STATISTICS = pytest.StashKey[SessionStatistics]()
HARNESSES = pytest.StashKey[list[Any]]()
"""The harnesses of a test."""


def give_up(required: Collection[str], statistics: SessionStatistics, what: str, reason: str) -> NoReturn:
    """Skip the test for which something is missing; fail it if `--eos-require` promised that."""
    if what in required:
        pytest.fail(f"{what} is required by --eos-require, but: {reason}", pytrace=False)
    statistics.skipped.append(reason)
    pytest.skip(reason)
