"""Measure how much faster four hosted tasks are than one: `eosfw run --engine spark` on two executor processes.

The source waits 5 ms in each poll, as one behind a network does, and gives 50 records, which are a transaction: so what
is compared is waiting side by side, and two processors that the broker and both executors share suffice. The same
records are read by one task and by four, in turn, in one Spark session of `local-cluster[2,2,1024]` against an embedded
broker. A rate is the number of records over the time from the first poll of any task to the last commit of any, so that
neither the start of the job nor its end counts. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path

from benchmark import ContenderError, run_main, scaled, show

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from spark.hosted_runs import install

MASTER, TASKS = "local-cluster[2,2,1024]", 4
BATCH, WAIT_MS = 50, 5
GOAL = 1.8


def rate(tasks: int, records: int, folder: Path) -> float:
    """Records a second of one run."""
    from eosfw.concurrency import ThreadRuntime
    from eosfw.observe import TaskStep
    from eosfw.pipeline import ClusterChoice, LocalRun, Pipeline, RunControl, SilentReporter
    from eosfw.pipeline.connector_run import drain
    from eosfw.pipeline.local.hosting import HostChoice
    from eosfw.protocols import TaskHostSettings
    from eosfw.registry import load_plugins

    group = f"hosting-{uuid.uuid4().hex[:8]}"
    worker = {"group.id": group, "exactly.once.source.support": "enabled", "offset.storage.partitions": "1"}
    pipeline = Pipeline(
        folder / "hosting.toml", ClusterChoice("memory"), worker, {"waiting": connector(tasks, records)}
    )
    runtime, host = ThreadRuntime(), HostChoice("spark", TaskHostSettings(MASTER))
    with LocalRun(pipeline, load_plugins(), runtime, host=host) as run:
        drain(run, RunControl(runtime), SilentReporter(), idle=5.0)
        events = run.history.events()
        if run.history.records != records:
            raise ContenderError(f"{run.history.records} records committed instead of {records}")
    begun = min(one.at for one in events if one.step is TaskStep.POLL)
    return records / (max(one.at for one in events if one.step is TaskStep.COMMITTED) - begun)


def connector(tasks: int, records: int) -> Mapping[str, str]:
    """Four counters for however many tasks."""
    return {
        "connector.class": "waiting",
        "topic": "waiting",
        "tasks.max": str(tasks),
        "streams": str(TASKS),
        "until": str(records // TASKS),
        "batch": str(BATCH),
        "wait.ms": str(WAIT_MS),
    }


def main() -> None:
    """Take turns, print the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    records = scaled(chosen.records, TASKS * BATCH) // (TASKS * BATCH) * (TASKS * BATCH)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        site = install(folder / "site")
        sys.path.insert(0, str(site))
        os.environ["PYTHONPATH"] = str(site)
        found = measured(records, scaled(chosen.rounds), folder)
    medians = {tasks: statistics.median(rates) for tasks, rates in found.items()}
    show(
        {
            "records": records,
            "records_per_second": {f"{tasks} tasks": [round(one) for one in rates] for tasks, rates in found.items()},
            "ratio": round(medians[TASKS] / medians[1], 2),
            "goal": GOAL,
        }
    )


def measured(records: int, rounds: int, folder: Path) -> dict[int, list[float]]:
    """The rates of one task and of four, in one session."""
    from eosfw_spark import session
    from eosfw_spark.hosting.masters import host_settings
    from eosfw_spark.hosting.task_host_session import work_folder

    running = session.start(more=host_settings(MASTER, {}))
    left = work_folder(running)
    try:
        found: dict[int, list[float]] = {1: [], TASKS: []}
        for tasks in (TASKS, 1):  # the first processes of each executor start slowly
            rate(tasks, min(records, 10 * TASKS * BATCH), folder)
        for _ in range(rounds):
            for tasks, rates in found.items():
                rates.append(rate(tasks, records, folder))
        return found
    finally:
        running.close()
        if left is not None:
            left.delete()


if __name__ == "__main__":
    run_main(main)
