"""Health checks of plugins, for `eosfw doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

__all__ = ["Finding", "Health", "HealthCheck"]


class Health(Enum):
    """The result of a check."""

    FINE = "ok"
    ABSENT = "absent"
    """Optional and not installed: no error."""
    BROKEN = "broken"
    """Installed, but it cannot work, or its version is wrong."""
    UNAVAILABLE = "unavailable"
    """It does not answer now."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: its subject, its result, what was found in words, and a remedy if there is one."""

    subject: str
    health: Health
    found: str
    remedy: str = ""


@runtime_checkable
class HealthCheck(Protocol):
    """A class that can check whether this machine has what it needs."""

    @classmethod
    def health(cls) -> Sequence[Finding]:
        """Check what it needs beside Python distributions, such as a program or a library of the system.

        It returns within seconds and leaves nothing running. An exception is shown as an error of its distribution.
        """
