"""Compare how often each identity was seen with how often it is expected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["CountDifference", "Mismatch"]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An identity that was seen more or less often than expected, with some of its places."""

    identity: Any
    seen: int
    expected: int
    places: tuple[str, ...] = ()

    @property
    def excess(self) -> int:
        """How often it was seen too often; negative where it is missing."""
        return self.seen - self.expected


@dataclass(slots=True)
class CountDifference:
    """The sums over all identities, and the first mismatches of each kind, at most `limit`."""

    limit: int
    duplicates: int = 0
    """How often identities that are expected were seen beyond that."""
    unexpected: int = 0
    """How often identities were seen that are not expected at all."""
    missing: int = 0
    """How often expected identities were not seen."""
    _duplicated: list[Mismatch] = field(default_factory=list)
    _unexpected: list[Mismatch] = field(default_factory=list)
    _missing: list[Mismatch] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.duplicates or self.unexpected or self.missing)

    def add(self, identity: Any, seen: int, expected: int) -> None:
        """Count an identity."""
        if seen == expected:
            return
        if seen < expected:
            self.missing += expected - seen
            examples = self._missing
        elif expected:
            self.duplicates += seen - expected
            examples = self._duplicated
        else:
            self.unexpected += seen
            examples = self._unexpected
        if len(examples) < self.limit:
            examples.append(Mismatch(identity, seen, expected))

    def add_excess(self, identity: Any, excess: int) -> None:
        """Count an identity of which only the difference is known: positive if seen too often."""
        self.add(identity, max(excess, 0), max(-excess, 0))

    @property
    def excess(self) -> int:
        """How often identities were seen too often: what a verdict calls duplicates."""
        return self.duplicates + self.unexpected

    @property
    def examples(self) -> tuple[Mismatch, ...]:
        """The mismatches that were kept: duplicated ones, then unexpected ones, then missing ones."""
        return (*self._duplicated, *self._unexpected, *self._missing)
