"""A pipeline as values: a cluster, a worker group, connectors, steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from eosfw.config.definition.config_def import nearest
from eosfw.errors import Problem
from eosfw.protocols import Step

FOLDER_FORMATS: Final = ("parquet", "csv", "json", "delta")
"""Formats of outputs that are folders."""
VERIFY_HINT: Final = "--verify asks for it"


class Verification(Enum):
    """How much depends on verification, which reads sources and topics once more."""

    REQUIRED = "required"
    """Verify; a run that cannot be verified has failed."""
    TRY = "try"
    """Verify as far as that is possible; the summary names what cannot be verified."""
    OFF = "off"
    """Do not verify."""


def effective_verification(*, option: Verification | None, file: Verification | None, external: bool) -> Verification:
    """The option of the command line, else of the file; else embedded clusters are verified, since they are small."""
    return option or file or (Verification.OFF if external else Verification.TRY)


def parse_verification(text: str) -> Verification:
    """The verification of this name; ValueError with the known names."""
    names = [each.value for each in Verification]
    if text not in names:
        near = nearest(text, names)
        raise ValueError(f"unknown {text!r}; {f'did you mean {near!r}?' if near else 'write ' + ', '.join(names)}")
    return Verification(text)


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """Which cluster, reached by which client."""

    backend: str | None = None
    """The client's name; None takes the only one installed."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Kafka's client properties; without `bootstrap.servers` a cluster is served by this machine."""

    @property
    def external(self) -> bool:
        """Whether the cluster is named, and so is not served by the run itself."""
        return "bootstrap.servers" in self.properties


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The content of a pipeline file, not yet validated against what is installed."""

    path: Path
    cluster: ClusterChoice
    worker: Mapping[str, str]
    connectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    steps: Sequence[Step] = ()
    engine: str | None = None
    """The step engine's name; None takes the only one installed."""
    broker: Mapping[str, str] = field(default_factory=dict)
    """Properties of the embedded cluster; `name` chooses among those installed."""
    verify: Verification | None = None
    """Whether records are counted against a replay of the sources; None leaves it to the cluster's kind."""
    problems: Sequence[Problem] = ()
    """Mistakes in how the file is written; the values that they concern are left out or have a default."""

    @property
    def folder(self) -> Path:
        """Where relative paths of steps start."""
        return self.path.parent

    def checkpoint(self, step: Step) -> Path:
        """The folder in which a streaming step keeps its progress."""
        return self.folder / (step.checkpoint or f"checkpoints/{step.name}")
