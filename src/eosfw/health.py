"""Let parts say how they are, for `eosfw doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

__all__ = ["Finding", "Health", "HealthCheck"]


class Health(Enum):
    """How something that was looked at is."""

    FINE = "ok"
    ABSENT = "absent"
    """Optional, not installed: no fault."""
    BROKEN = "broken"
    """There, but it cannot work, or in a wrong version."""
    UNAVAILABLE = "unavailable"
    """Nobody answers there now."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what it is, how it is, in words, and the remedy if there is something to do."""

    subject: str
    health: Health
    found: str
    remedy: str = ""


@runtime_checkable
class HealthCheck(Protocol):
    """A class that can tell whether this machine has what it needs."""

    @classmethod
    def health(cls) -> Sequence[Finding]:
        """What it needs beside the distributions that pip brings, such as a program or a library of the system.

        It starts nothing that lasts and returns within seconds; what it raises is shown as a fault of its distribution.
        """
