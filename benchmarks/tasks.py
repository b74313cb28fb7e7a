"""Measure whether four tasks move as many records a second as one (goal 14): files through the framework, exactly once.

One worker with one connector of one file, with four connectors of a quarter each, and, with `--bootstrap-servers`, one
whose four tasks have processes of their own (`task.isolation=process`) and two workers in processes of their own with
two connectors each, in turn. In memory, by direct calls, and through confluent-kafka into a real Kafka. A rate is the
number of records over the time from the first poll of any task to the last commit of any. The starts of four tasks lie
up to a second apart, so only millions of records tell how they work side by side. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
import uuid
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import ClassVar

from benchmark import run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.pipeline.definition.model import ClusterChoice, Pipeline
from eosfw.pipeline.local.local_run import LocalRun
from eosfw.registry import load_plugins
from eosfw.state.steps import StepEvent, TaskStep

BATCH, INTERVAL_MS = 2000, 100
TASKS, WORKERS = 4, 2
LOOK = 0.01
GOAL = 0.9


@dataclass(frozen=True, slots=True)
class Share:
    """What the workers of a contender do."""

    inputs: list[list[Path]]
    """For each worker its files, each of which is a connector with one task."""
    isolation: str = "thread"
    """Of tasks: `task.isolation`."""


Shares = dict[str, Share]
"""By contender."""


class Span:
    """Records when the first record was read and when the last one was committed."""

    name: ClassVar[str] = "span"

    def __init__(self) -> None:
        self.began: float | None = None
        self.ended = 0.0

    def observe(self, event: StepEvent) -> None:
        if event.step is TaskStep.POLL and self.began is None:
            self.began = event.at
        elif event.step is TaskStep.COMMITTED and event.detail.get("records"):
            self.ended = event.at


def shared(folder: Path, records: int) -> Shares:
    """The same lines of 100 bytes in one file, and in four."""
    whole, *quarters = (folder / f"{number}.txt" for number in range(TASKS + 1))
    for path, lines in ((whole, records), *((quarter, records // TASKS) for quarter in quarters)):
        path.write_bytes(b"".join(b"%099d\n" % number for number in range(lines)))
    each = TASKS // WORKERS
    return {
        "1 task": Share([[whole]]),
        f"{TASKS} tasks": Share([quarters]),
        f"{TASKS} tasks in {TASKS} processes": Share([quarters], "process"),
        f"{TASKS} tasks in {WORKERS} workers": Share([quarters[:each], quarters[each:]]),
    }


def run_worker(cluster: ClusterChoice, isolation: str, inputs: list[Path]) -> tuple[float, float]:
    """When the tasks of one worker began and ended; each file is a connector that writes into a topic of its own."""
    name = f"tasks-{uuid.uuid4().hex[:8]}"
    connectors = {
        f"{name}-{number}": {
            "connector.class": "file",
            "file": str(path),
            "topic": f"{name}-{number}",
            "batch.size": str(BATCH),
            "transaction.boundary": "interval",
            "transaction.boundary.interval.ms": str(INTERVAL_MS),
        }
        for number, path in enumerate(inputs)
    }
    worker = {"group.id": name, "exactly.once.source.support": "enabled", "task.isolation": isolation}
    span, pipeline = Span(), Pipeline(Path(name), cluster, worker, connectors)
    with LocalRun(pipeline, load_plugins(), ThreadRuntime(), observers=[span]) as run:
        run.worker.start()
        run.put_connectors()
        while not run.worker.drained(5.0):
            time.sleep(LOOK)
        run.worker.stop()
    assert span.began is not None
    return span.began, span.ended


def seconds(cluster: ClusterChoice, share: Share, processes: ProcessPoolExecutor) -> float:
    """From the first poll to the last commit; several workers have a process each, whose clocks are one."""
    in_turn = map if len(share.inputs) == 1 else processes.map
    began, ended = zip(*in_turn(run_worker, repeat(cluster), repeat(share.isolation), share.inputs), strict=True)
    return float(max(ended) - min(began))


def compare(cluster: ClusterChoice, shares: Shares, records: int, rounds: int) -> dict[str, object]:
    """Medians over the rounds; a ratio is the median of the rounds' ratios. A first round warms up."""
    with ProcessPoolExecutor(WORKERS, multiprocessing.get_context("spawn")) as processes:
        found = [
            {name: records / seconds(cluster, share, processes) for name, share in shares.items()}
            for _ in range(rounds + 1)
        ][1:]
    alone = "1 task"
    return {
        "records_per_second": {name: round(statistics.median(one[name] for one in found)) for name in shares},
        "ratios": {
            name: round(statistics.median(one[name] / one[alone] for one in found), 3)
            for name in shares
            if name != alone
        },
        "goal": GOAL,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", help="a running real Kafka")
    parser.add_argument("--rounds", type=int, default=scaled(5))
    parser.add_argument("--records", type=int, default=scaled(3_000_000))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shares = shared(Path(folder), asked.records)
        # The embedded broker is in the worker's process, so calls from other processes would compare something else.
        in_one = {name: one for name, one in shares.items() if len(one.inputs) == 1 and one.isolation == "thread"}
        found = {"memory": compare(ClusterChoice("memory"), in_one, asked.records, asked.rounds)}
        if asked.bootstrap_servers:
            kafka = ClusterChoice("confluent", {"bootstrap.servers": asked.bootstrap_servers})
            found["kafka"] = compare(kafka, shares, asked.records, asked.rounds)
        show(found)


if __name__ == "__main__":
    run_main(main)
