"""What the demo asks of a source: properties, a plan for the zombie, and a check of what was committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol

from eosfw.concurrency import Runtime
from eosfw.errors import Problem
from eosfw.protocols import Step, Verdict
from eosfw_demo.environment import DemoEnvironment, DemoOptions
from eosfw_demo.output import OutputFolder
from eosfw_demo.progress import Progress

__all__ = ["DemoSource", "Findings", "OpenedSource", "Plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The two generations of a connector, and when a task of the first one is frozen."""

    first: Mapping[str, str]
    """The connector's properties for the first generation."""
    second: Mapping[str, str]
    """Other ones, so that there is a second one."""
    victim: int
    """The number of the task that is frozen."""
    freeze_after: int
    """The records that the victim has committed before."""
    records: int
    """All records that the source gives."""

    @property
    def tasks(self) -> int:
        """How many tasks the first generation has."""
        return int(self.first["tasks.max"])

    reads: str
    """Who reads what in the first generation."""
    takes_over: str
    """Who goes on with what in the second one."""
    ended: str
    """What has happened when all is committed."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What the committed records are, compared with their source."""

    verdict: Verdict
    rows: int
    """Rows of the result."""
    differences: Sequence[str]
    """Where the result differs from the source."""
    table: Path
    """The file or folder of the result."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """More of the source, for `--json`."""


class OpenedSource(Protocol):
    """A source that is ready to be read."""

    @property
    def subject(self) -> str:
        """What there is, in a few words."""

    def plan(self, topic: str) -> Plan:
        """How it is read into a topic."""

    def verify(self, environment: DemoEnvironment, options: DemoOptions, output: Path, progress: Progress) -> Findings:
        """Compare what was committed with the source; write the result to the folder."""

    def check(self) -> None:
        """Raise what has gone wrong in the source."""


class DemoSource(Protocol):
    """A kind of source, which `eosfw demo --source` names."""

    command: ClassVar[str]
    """The command that runs the demo with it."""
    topic: ClassVar[str]
    """The name of the topic; up to its first dot that of the connector, too."""
    suffix: ClassVar[str]
    """The end of its files' names, so that sources do not replace each other's."""
    title: ClassVar[str]
    """The timeline's."""
    equal_to: ClassVar[str]
    """With what the result is compared."""
    success: ClassVar[str]
    """What is shown."""

    def step(self, output: Path) -> Step:
        """The step that Spark runs, to check whether it can."""

    def problems(self) -> Sequence[Problem]:
        """What is not installed."""

    def opened(
        self, folder: OutputFolder, runtime: Runtime, progress: Progress
    ) -> AbstractContextManager[OpenedSource]:
        """Make the source, and take it away again behind the block."""
