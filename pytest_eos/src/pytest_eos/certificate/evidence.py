"""What one test shows of a connector, in plain values that pytest-xdist can send."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
ZOMBIE, KILL, FAULT = "zombie", "kill", "fault"
FENCED, STOPPED, KILLED, HAPPENED = "fenced", "stopped", "killed", "happened"


@dataclass(frozen=True, slots=True)
class Promise:
    """What a connector says of itself with the properties of one run."""

    name: str
    connector: str
    """`module:Class`."""
    version: str
    distribution: str
    """Empty for a class that no distribution has."""
    support: str
    boundary: str
    boundaries: str
    """Whether its tasks can define their transaction boundaries."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to break the promise: a zombie, a kill or a fault of the broker, and how it ended."""

    kind: str
    who: str
    """`task`, `worker`, `worker process`, `leader`, `driver`, `executor` or `broker`."""
    at: str
    """The step before which it happened, or the fault in words; empty for a whole worker."""
    end: str
    times: int = 1
    """How often a fault happened."""
    connector: str = ""
    """The connector that it was tried on, as `module:Class`; empty if it concerned all of a test."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The timeline of a test."""

    svg: str
    text: str
    rank: int
    """Higher is worse: of several pictures, the worst one is shown."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One test: what it was, how it ended, what it tried."""

    test: str
    sentence: str
    contract: str
    """The contract that it is a test of; empty for a test of the author's own."""
    outcome: str
    seconds: float
    reason: str = ""
    """The witness of a failure, or why it was skipped."""
    promises: tuple[Promise, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    comparisons: int = 0
    """How often all records were compared with those of the source, without a difference."""
    backend: str = ""
    cluster: str = ""
    clock: str = ""
    spark: str = ""
    """The version of the Spark that read the records; empty if none did."""
    rights: bool = False
    """Whether its workers may do what somebody has allowed them, and nothing else."""
    simulation: Mapping[str, Any] | None = None
    """What the seeds of a simulated test have seen, as `Coverage.as_json` writes it."""
    picture: Picture | None = None

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The evidence of which `dataclasses.asdict` made this."""
        picture = given["picture"]
        parts = {
            "promises": tuple(Promise(**one) for one in given["promises"]),
            "attempts": tuple(Attempt(**one) for one in given["attempts"]),
            "picture": None if picture is None else Picture(**picture),
        }
        return cls(**{**given, **parts})


@dataclass(slots=True)
class RunOutcome:
    """A whole run of pytest: the evidence of its tests, and how it ended."""

    evidence: list[Evidence] = field(default_factory=list)
    deselected: int = 0
    errors: list[tuple[str, str]] = field(default_factory=list)
    """Where and why something failed that is no test: a module that cannot be imported, a worker that crashed."""
    unfinished: str = ""
    """Why the run did not come to its end; empty if it did."""
