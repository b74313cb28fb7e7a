"""What the simulated tests of a connector have seen together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from eosfw.text import quantity
from pytest_eos.certificate.evidence import Evidence
from pytest_eos.simulation.coverage import Coverage

_OF_WORKERS: Final = ("crash", "pause", "take-over")
"""Faults that end a worker, or let it stand still: without them nothing was tried that makes zombies."""


def simulated(tests: Iterable[Evidence]) -> dict[str, Any] | None:
    """The counts of all seeds; None if no test was simulated."""
    coverage = Coverage()
    for one in tests:
        if one.simulation is not None:
            coverage.add(one.simulation)
    return coverage.as_json() if coverage.seeds else None


def ends_or_stops_workers(counts: Mapping[str, Any] | None) -> bool:
    """Whether a worker was ended, or stood still."""
    return counts is not None and any(counts["fired"].get(kind) for kind in _OF_WORKERS)


def happened(counts: Mapping[str, Any]) -> str:
    """How many faults happened in how many runs, in words."""
    faults = quantity(sum(counts["fired"].values()), "fault")
    return f"{faults} in {quantity(counts['seeds'], 'simulated run')}"
