"""The source `file`: the flights of a year, split over four CSV files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from eosfw.concurrency import Runtime
from eosfw.errors import Problem
from eosfw.protocols import Step
from eosfw_demo.environment import DemoEnvironment, DemoOptions
from eosfw_demo.file_source.aggregate import aggregate, differences
from eosfw_demo.file_source.verification import STEP, in_spark, step, without_spark
from eosfw_demo.flights import Flights, read_flights, split
from eosfw_demo.output import WITHOUT, OutputFolder
from eosfw_demo.progress import Progress
from eosfw_demo.sources import Findings, Plan

TASKS = 4
SUCCESSOR_TASKS = 3
"""Tasks of the second generation; fewer, so that files change their task."""
PARTITIONS = 4
BATCH = 2000
FREEZE_AT = 1 / 3
"""The share of its file that the victim has committed when it is frozen; the rest is left to its successors."""


class FileSource:
    """Flights in CSV files, by the connector `file`."""

    command: ClassVar[str] = "eosfw demo"
    topic: ClassVar[str] = "flights"
    suffix: ClassVar[str] = ""
    title: ClassVar[str] = "336,776 flights exactly once, with a zombie in the way"
    equal_to: ClassVar[str] = "the same aggregation of the CSV"
    success: ClassVar[str] = "every flight is there exactly once"

    def step(self, output: Path) -> Step:
        """The aggregation."""
        return step(self.topic, output / STEP)

    def problems(self) -> Sequence[Problem]:
        """None: all it needs is a dependency."""
        return ()

    @contextmanager
    def opened(self, folder: OutputFolder, runtime: Runtime, progress: Progress) -> Iterator[OpenedFiles]:
        """The flights, and the folder of their files while the block lasts."""
        flights = read_flights()
        progress.total = len(flights.lines)
        with folder.sources() as csv_folder:
            files = split(*flights, csv_folder, TASKS)
            progress.log(f"{len(flights.lines):,} flights split over {TASKS} files")
            yield OpenedFiles(flights, files)


@dataclass(frozen=True, slots=True)
class OpenedFiles:
    """The flights and their files."""

    flights: Flights
    files: Sequence[Path]

    @property
    def subject(self) -> str:
        """How many flights there are."""
        return f"{len(self.flights.lines):,} flights, {TASKS} tasks"

    def plan(self, topic: str) -> Plan:
        """Four tasks, then three."""
        records = len(self.flights.lines)
        return Plan(
            first=self._properties(topic, TASKS),
            second=self._properties(topic, SUCCESSOR_TASKS),
            victim=1,
            freeze_after=round(FREEZE_AT * records / TASKS),
            records=records,
            reads=f"{TASKS} tasks read {TASKS} files",
            takes_over=f"its {SUCCESSOR_TASKS} tasks take over all {TASKS} files",
            ended="all files are at their end",
        )

    def verify(self, environment: DemoEnvironment, options: DemoOptions, output: Path, progress: Progress) -> Findings:
        """Count lines, and compare aggregations."""
        table = output / (STEP if options.exactly_once else STEP + WITHOUT)
        if options.spark:
            verdict, rows = in_spark(environment, self.flights.lines, table, progress)
        else:
            table = table.with_suffix(".csv")
            verdict, rows = without_spark(environment, self.flights, table, progress)
        differing = differences(aggregate(*self.flights), rows)
        facts = {"flights": len(self.flights.lines), "aggregation_equal": not differing}
        return Findings(verdict, len(rows), differing, table, facts)

    def check(self) -> None:
        """Files do not change."""

    def _properties(self, topic: str, tasks: int) -> Mapping[str, str]:
        """The properties of the connector; each value is an unchanged CSV line."""
        return {
            "connector.class": "file",
            "tasks.max": str(tasks),
            "file": str(self.files[0].parent),
            "format": "csv",
            "value": "raw",
            "topic": topic,
            "batch.size": str(BATCH),
            "topic.creation.default.partitions": str(PARTITIONS),
            "eosfw.identity": "value",
        }
