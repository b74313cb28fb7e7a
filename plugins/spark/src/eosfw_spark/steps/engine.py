"""Run steps over committed records in Spark."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from eosfw.config.parts import PartChoice
from eosfw.errors import DamagedDataError, Problem, StepFailedError
from eosfw.health import Finding
from eosfw.identity import check_kind
from eosfw.ids import TopicPartition
from eosfw.protocols import Step, StepQuery, TaskHostSession, TaskHostSettings, Verdict
from eosfw.records import OffsetRange
from eosfw_spark import health, session
from eosfw_spark.hosting import masters
from eosfw_spark.java import java_problem
from eosfw_spark.root_cause import step_failure
from eosfw_spark.steps import checks, functions
from eosfw_spark.steps.checkpoint import Checkpoint
from eosfw_spark.steps.writers import StepWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from eosfw_spark.session import Session
    from eosfw_spark.steps.tables import Tables


class SparkStepEngine:
    """Runs each step in one local Spark session. A step's function gets its tables as keyword arguments."""

    name: ClassVar[str] = "spark"

    def __init__(self, running: Session, tables: Tables, writer: StepWriter, folder: str) -> None:
        self._session = running
        self._tables = tables
        self._writer = writer
        self._folder = folder

    @classmethod
    def health(cls) -> Sequence[Finding]:
        """Whether Spark can start here."""
        return health.findings()

    @classmethod
    def problems(cls, steps: Sequence[Step], folder: str) -> Sequence[Problem]:
        """The problems that keep these steps from running."""
        return checks.step_problems(steps, folder)

    @classmethod
    def start(cls, backend: str, properties: Mapping[str, str], folder: str, reader: PartChoice) -> Self:
        """Start Spark for a cluster; needs Java and takes seconds."""
        from eosfw_spark.steps.tables import Tables

        running = session.start()
        # Spark's workers import what a step's functions need from the pipeline's folder, as this process does.
        running.spark.sparkContext.environment["PYTHONPATH"] = str(Path(folder).resolve())
        tables = Tables(running.spark, backend, dict(properties), reader)
        return cls(running, tables, StepWriter(backend, dict(properties), folder), folder)

    def start_query(self, step: Step, checkpoint: str | None, *, follow: bool) -> StepQuery:
        """Start the streaming query of a step."""
        from eosfw_spark.steps.streaming import start

        try:
            with functions.importable(self._folder):
                frames = {each.table: self._tables.of_stream(each) for each in step.inputs}
                result = self._computed(step, frames)
            place = Path(checkpoint or self._session.folder("checkpoints") / step.name)
            writer = replace(self._writer, fresh=checkpoint is None)
            return start(step, result, writer, Checkpoint(place), follow=follow)
        except (Exception, SystemExit) as why:
            raise step_failure(f"step {step.name}", why) from why
        finally:
            self._forget(step)

    @classmethod
    def host_problems(cls, settings: TaskHostSettings) -> Sequence[Problem]:
        """Whether Spark can start here, and reach what it needs; its master is asked when it starts."""
        texts = [java_problem(), masters.master_problem(settings)]
        return [Problem("--engine spark", text) for text in texts if text is not None]

    @classmethod
    def start_host(cls, settings: TaskHostSettings) -> TaskHostSession:
        """Start Spark on a master, for tasks of connectors and for the steps behind them."""
        from eosfw_spark.hosting.task_host_session import SparkTaskHostSession

        return SparkTaskHostSession.start(settings)

    def run(self, step: Step, ranges: Mapping[TopicPartition, OffsetRange]) -> int:
        """Run a step over exactly these ranges and replace its output."""
        try:
            with redirect_stdout(sys.stderr), functions.importable(self._folder):
                frames = {each.table: self._tables.of_input(each, ranges) for each in step.inputs}
                return self._writer.replace(self._computed(step, frames), step, ranges)
        except (Exception, SystemExit) as why:  # a user's function may also call sys.exit
            raise step_failure(f"step {step.name}", why) from why
        finally:
            self._forget(step)

    def _computed(self, step: Step, frames: Mapping[str, DataFrame]) -> DataFrame:
        if step.function is not None:
            return _called(step.function, frames, self._folder)
        for table, frame in frames.items():
            frame.createOrReplaceTempView(table)
        return self._session.spark.sql(step.sql or "")

    def _forget(self, step: Step) -> None:
        # If Spark was stopped during the step, its views are gone already.
        with suppress(Exception):
            for each in step.inputs:
                self._session.spark.catalog.dropTempView(each.table)

    def verdict(
        self, ranges: Mapping[TopicPartition, OffsetRange], identity: str, expected: Iterable[Sequence[bytes]]
    ) -> Verdict:
        """Count duplicates and missing records in Spark."""
        check_kind(identity)
        from eosfw_spark.identity_counts import count, seen_identities, write_expected

        folder = Path(tempfile.mkdtemp(prefix="eosfw-verdict-"))
        try:
            write_expected(expected, folder / "expected.parquet")
            topics = sorted({partition.topic for partition in ranges})
            frames = (self._tables.of_topic(topic, ranges, headers=identity == "headers") for topic in topics)
            seen = seen_identities(reduce(lambda one, other: one.unionAll(other), frames), identity)
            return count(seen, self._session.spark.read.parquet(str(folder / "expected.parquet")), identity)
        except DamagedDataError:
            raise
        except Exception as why:
            raise step_failure("the verdict", why) from why
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Stop Spark, unless it ran before."""
        self._session.close()


def _called(name: str, frames: Mapping[str, DataFrame], folder: str) -> DataFrame:
    from pyspark.sql import DataFrame

    result = functions.load(name, folder)(**frames)
    if not isinstance(result, DataFrame):
        raise StepFailedError(f"function {name} returned {type(result).__name__}, not a DataFrame")
    return result
