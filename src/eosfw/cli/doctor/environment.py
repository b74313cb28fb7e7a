"""An environment as it was found: plain values for the checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement


@dataclass(frozen=True, slots=True)
class RequirementState:
    """A requirement, and the version found: None if it is not installed, `?` if its metadata has none."""

    requirement: Requirement
    found: str | None


@dataclass(frozen=True, slots=True)
class DistributionState:
    """A distribution of the framework, or of a plugin; an extra that is not installed has no version."""

    name: str
    version: str | None
    needs: Sequence[RequirementState] = ()
    extra: str | None = None
    """What `pip install 'eosfw[EXTRA]'` calls it."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python that runs."""

    version: str
    path: str
    wanted: str
    """What the framework's metadata asks for."""


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """A part of a distribution that cannot be loaded."""

    distribution: str
    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class ListenAttempt:
    """An attempt to listen at an address; no reason means that it can be done."""

    address: str
    reason: str | None
    wanted: bool
    """Whether the user asked for this very address."""


@dataclass(frozen=True, slots=True)
class TemporaryFolder:
    """Where temporary files go."""

    folder: str
    reason: str | None
    """Why nothing can be written there."""
    free: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything about this machine that the checks of the framework itself judge."""

    interpreter: Interpreter
    parts: Sequence[DistributionState]
    plugins: int
    """How many classes are offered."""
    failures: Sequence[LoadFailure]
    clashes: Sequence[str]
    listen_attempts: Sequence[ListenAttempt]
    temporary_folder: TemporaryFolder
