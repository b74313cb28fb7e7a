"""Spark, which runs steps over what was committed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from eosfw.protocols import StepEngine
from eosfw_demo.environment import DemoEnvironment
from eosfw_demo.progress import Progress


@contextmanager
def started_engine(environment: DemoEnvironment, folder: Path, progress: Progress) -> Iterator[StepEngine]:
    """The engine of steps, which ends with the block."""
    progress.set_status("Spark starts")
    run = environment.run
    engine = run.plugins.step_engine().start(run.backend_name, run.client_properties, str(folder), run.reader_choice)
    try:
        progress.log("Spark is up")
        yield engine
    finally:
        engine.close()


def read_parquet(folder: Path) -> list[Mapping[str, object]]:
    """The rows of a step's output."""
    from pyarrow import parquet  # installed with eosfw-spark, which writes these folders

    rows: list[Mapping[str, object]] = parquet.read_table(folder).to_pylist()
    return rows
