"""Measure what plugins that listen to every step cost a task (goal 19): five of them against none.

A file goes through a worker into the embedded broker, 1000 lines per batch and transaction, by direct calls. Two
answers: the processor time of whole runs, with and without in turn; and the time spent in announcing as a share of the
run, which noise can hardly touch. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import ClassVar

from benchmark import run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.observe import Announcer
from eosfw.pipeline.definition.model import ClusterChoice, Pipeline
from eosfw.pipeline.local.local_run import LocalRun
from eosfw.registry import Plugins, load_plugins
from eosfw.state.steps import StepEvent

BATCH = 1000
LOOK = 0.01
GOAL = 0.03


class Listener:
    """An observer that counts steps, as a plugin may do."""

    name: ClassVar[str] = "listener"

    def __init__(self) -> None:
        self.steps: Counter[object] = Counter()

    def observe(self, event: StepEvent) -> None:
        self.steps[event.step] += 1


class Kept:
    """An observer that keeps the events of a run, to announce them again."""

    name: ClassVar[str] = "kept"

    def __init__(self) -> None:
        self.events: list[StepEvent] = []

    def observe(self, event: StepEvent) -> None:
        self.events.append(event)


def run(file: Path, plugins: Plugins, observers: list[Listener | Kept]) -> float:
    """Processor time of one run, from the start of its task to the end of its source."""
    connectors = {
        "lines": {
            "connector.class": "file",
            "file": str(file),
            "topic": "lines",
            "batch.size": str(BATCH),
            "transaction.boundary": "poll",
        }
    }
    worker = {"group.id": "hooks", "exactly.once.source.support": "enabled"}
    pipeline = Pipeline(Path("hooks"), ClusterChoice("memory"), worker, connectors)
    runtime = ThreadRuntime()
    with LocalRun(pipeline, plugins, runtime, observers=observers) as local:
        local.worker.start()
        began = time.process_time()
        local.put_connectors()
        while not local.worker.drained(5.0):
            time.sleep(LOOK)
        spent = time.process_time() - began
        local.worker.stop()
    return spent


def announcing(events: list[StepEvent], observers: int) -> float:
    """Processor time to announce these events to so many observers."""
    announce = Announcer([Listener() for _ in range(observers)])
    began = time.process_time()
    for event in events:
        announce(event)
    return time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=scaled(9))
    parser.add_argument("--records", type=int, default=scaled(300_000, least=BATCH))
    asked = parser.parse_args()
    plugins = load_plugins()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "lines.txt")
        file.write_bytes(b"".join(b"%099d\n" % number for number in range(asked.records)))
        kept = Kept()
        run(file, plugins, [kept])
        pairs = [
            (run(file, plugins, []), run(file, plugins, [Listener() for _ in range(5)])) for _ in range(asked.rounds)
        ]
    told = [announcing(kept.events, 5) - announcing(kept.events, 0) for _ in range(asked.rounds)]
    without, within = (statistics.median(column) for column in zip(*pairs, strict=True))
    result = {
        "cpu_s_without": round(without, 4),
        "cpu_s_with_five": round(within, 4),
        "ratio_of_medians": round(within / without, 4),
        "ratio_median": round(statistics.median(five / none for none, five in pairs), 4),
        "events_per_batch": round(len(kept.events) / (asked.records / BATCH), 1),
        "share_of_announcing": round(statistics.median(told) / within, 5),
        "goal": GOAL,
    }
    show(result)


if __name__ == "__main__":
    run_main(main)
