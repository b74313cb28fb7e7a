"""Let parts say how they are, for `eosfw doctor`.

A class of any role may have a class method `health() -> Sequence[Finding]`: what it needs of this machine beside the
distributions that pip brings, such as a program or a library of the system. It starts nothing that lasts and returns
within seconds; what it raises is shown as a fault of its distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


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
