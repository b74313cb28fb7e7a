"""The contract of an engine that runs steps over committed records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self, runtime_checkable

from eosfw.config.parts import PartChoice
from eosfw.errors import Problem
from eosfw.ids import TopicPartition
from eosfw.records import (
    OffsetRange,
)


@dataclass(frozen=True, slots=True)
class StepInput:
    """A topic as a table: Kafka's columns, and with `format` (json, csv) and `schema` the value's own."""

    table: str
    topic: str
    format: str | None = None
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A named computation from topics to an output folder: a SQL text, or a function `module:name` of DataFrames."""

    name: str
    inputs: Sequence[StepInput]
    output: str
    sql: str | None = None
    function: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """How often identities appear against how often they should; `None` means "not verified", never 0."""

    duplicates: int | None
    missing: int | None
    examples: Sequence[str] = ()


@runtime_checkable
class StepEngine(Protocol):
    """Runs steps over committed records, and counts a verdict, somewhere else than in this process."""

    name: ClassVar[str]

    @classmethod
    def problems(cls, steps: Sequence[Step], folder: str) -> Sequence[Problem]:
        """What keeps these steps from running here (no Java, a function that cannot be imported); starts nothing."""

    @classmethod
    def start(cls, backend: str, properties: Mapping[str, str], folder: str, reader: PartChoice) -> Self:
        """Start over the cluster that the named backend reaches with these client properties; `reader` is the isolation
        reader that reads there. Relative paths and modules of steps are looked for in `folder`."""

    def run(self, step: Step, ranges: Mapping[TopicPartition, OffsetRange]) -> int:
        """Run a step over exactly these committed ranges, replace its output, return its rows. StepFailedError names
        the step and keeps the earlier output."""

    def verdict(
        self,
        ranges: Mapping[TopicPartition, OffsetRange],
        identity: str,
        expected: Iterable[Sequence[bytes]],
    ) -> Verdict:
        """Count identities that appear more often than expected (duplicates) or less (missing) in the ranges.
        `identity` is `value`, `headers` or `field:NAME`; `expected` comes in chunks. DamagedDataError names records
        that carry no such identity: they are neither duplicates nor verified."""

    def close(self) -> None:
        """Stop everything that was started."""
