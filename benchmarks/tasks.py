"""Measure whether four tasks move as many records a second as one (goal 14): files through the framework, exactly once.

One worker, first with one connector of one file, then with four connectors of a quarter each, in turn. In memory, by
direct calls, and, with `--bootstrap-servers`, through confluent-kafka into a real Kafka. A rate is the number of
records over the time from the first poll of any task to the last commit of any, so that neither starts nor stops count.
Prints one JSON object.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import uuid
from pathlib import Path
from typing import ClassVar

from benchmark import run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.pipeline.definition.model import ClusterChoice, Pipeline
from eosfw.pipeline.local.local_run import LocalRun
from eosfw.registry import Plugins, load_plugins
from eosfw.state.steps import StepEvent, TaskStep

BATCH, INTERVAL_MS = 2000, 100
TASKS = 4
LOOK = 0.01
GOAL = 0.9


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

    @property
    def seconds(self) -> float:
        assert self.began is not None
        return self.ended - self.began


def files(folder: Path, records: int) -> dict[int, list[Path]]:
    """The same lines of 100 bytes in one file, and in four."""
    found: dict[int, list[Path]] = {}
    for tasks in (1, TASKS):
        found[tasks] = [folder / f"{tasks}-{number}.txt" for number in range(tasks)]
        for path in found[tasks]:
            path.write_bytes(b"".join(b"%099d\n" % number for number in range(records // tasks)))
    return found


def records_per_second(cluster: ClusterChoice, inputs: list[Path], records: int, plugins: Plugins) -> float:
    """One run, each file a connector with one task into a topic of its own."""
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
    worker = {"group.id": name, "exactly.once.source.support": "enabled"}
    span = Span()
    with LocalRun(Pipeline(Path(name), cluster, worker, connectors), plugins, ThreadRuntime(), observers=[span]) as run:
        run.worker.start()
        run.put_connectors()
        while not run.worker.drained(5.0):
            time.sleep(LOOK)
        run.worker.stop()
    return records / span.seconds


def compare(cluster: ClusterChoice, inputs: dict[int, list[Path]], records: int, rounds: int) -> dict[str, float]:
    """Medians over the rounds; the ratio is the median of the rounds' ratios. A first round warms up."""
    plugins = load_plugins()
    pairs = [
        [records_per_second(cluster, each, records, plugins) for each in inputs.values()] for _ in range(rounds + 1)
    ]
    one, four = (statistics.median(column) for column in zip(*pairs[1:], strict=True))
    return {
        "one_task_records_per_second": round(one),
        "four_tasks_records_per_second": round(four),
        "ratio": round(statistics.median(many / alone for alone, many in pairs[1:]), 3),
        "goal": GOAL,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", help="a running real Kafka")
    parser.add_argument("--rounds", type=int, default=scaled(5))
    parser.add_argument("--records", type=int, default=scaled(1_000_000))
    asked = parser.parse_args()
    clusters = {"memory": ClusterChoice("memory")}
    if asked.bootstrap_servers:
        clusters["kafka"] = ClusterChoice("confluent", {"bootstrap.servers": asked.bootstrap_servers})
    with tempfile.TemporaryDirectory() as folder:
        inputs = files(Path(folder), asked.records)
        show({name: compare(each, inputs, asked.records, asked.rounds) for name, each in clusters.items()})


if __name__ == "__main__":
    run_main(main)
