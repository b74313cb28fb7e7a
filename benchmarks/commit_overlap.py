"""Measure what it gains that a commit overlaps the next poll (goal 2): a source that takes 5 ms for 1000 records.

A transaction per poll through confluent-kafka into a real Kafka, in turn: a bare loop of poll, `produce_batch`, a
record of offsets, commit; the framework without overlap; the framework with it. A rate is the number of records over
the time from the first poll to the last commit, so that neither start nor stop counts. Prints one JSON object with
medians over the rounds; ratios are medians of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import statistics
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

from benchmark import run_main, scaled, show
from confluent_kafka import Producer
from connector_rate import create, kafka

from eosfw.concurrency import ThreadRuntime
from eosfw.config import Config, ConfigDef, Int, String
from eosfw.connectors import SourceConnector, SourceTask
from eosfw.pipeline.definition.model import ClusterChoice, Pipeline
from eosfw.pipeline.local.local_run import LocalRun
from eosfw.records import SourceBatch
from eosfw.registry import Plugins, load_plugins
from eosfw.state.steps import StepEvent, TaskStep

RECORDS = 1000
VALUES = [b"%0100d" % number for number in range(RECORDS)]
LOOK = 0.01
GOAL = 1.3


class SlowTask(SourceTask):
    """Waits for its source, then has 1000 records."""

    config: ClassVar[ConfigDef | None] = ConfigDef(String("topic"), Int("polls"), Int("wait.ms"))

    def start(self, config: Config, context: Any) -> None:
        self._config, self._polls = config, 0

    def poll(self) -> SourceBatch | None:
        if self.at_end():
            return None
        time.sleep(self._config["wait.ms"] / 1000)
        self._polls += 1
        return SourceBatch(self._config["topic"], VALUES, {"source": "slow"}, {"polls": self._polls})

    def at_end(self) -> bool:
        return self._polls >= self._config["polls"]


class SlowConnector(SourceConnector):
    """One slow task."""

    name = "slow"
    task: ClassVar[type[SourceTask]] = SlowTask
    config = ConfigDef(String("topic"), Int("polls"), Int("wait.ms"))

    def task_configs(self, config: Config, max_tasks: int) -> list[Mapping[str, str]]:
        return [{name: str(config[name]) for name in ("topic", "polls", "wait.ms")}]


class WithSlow:
    """What is installed, with the slow connector."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plugins, name)

    def connector(self, connector_class: str) -> SourceConnector:
        return SlowConnector()


class Span:
    """When the first poll began and the last transaction was committed."""

    name: ClassVar[str] = "span"

    def __init__(self) -> None:
        self.began: float | None = None
        self.ended = 0.0

    def observe(self, event: StepEvent) -> None:
        if event.step is TaskStep.POLL and self.began is None:
            self.began = event.at
        elif event.step is TaskStep.COMMITTED:
            self.ended = event.at


def with_eosfw(servers: str, polls: int, wait_ms: int, *, overlap: bool) -> float:
    """Records per second of one run of the framework."""
    name, span = f"overlap-{uuid.uuid4().hex[:8]}", Span()
    properties = {"topic": name, "polls": str(polls), "wait.ms": str(wait_ms), "connector.class": "slow"}
    connectors = {name: {**properties, "transaction.commit.overlap": str(overlap).lower()}}
    cluster = ClusterChoice("confluent", {"bootstrap.servers": servers})
    worker = {"group.id": name, "exactly.once.source.support": "enabled", "offset.storage.partitions": "1"}
    plugins: Any = WithSlow(load_plugins())
    with LocalRun(Pipeline(Path(name), cluster, worker, connectors), plugins, ThreadRuntime(), observers=[span]) as run:
        run.worker.start()
        run.put_connectors()
        while not run.worker.drained(5.0):
            time.sleep(LOOK)
        run.worker.stop()
    assert span.began is not None
    return polls * RECORDS / (span.ended - span.began)


def with_raw(servers: str, polls: int, wait_ms: int) -> float:
    """Records per second of a bare loop."""
    topic = f"raw-{uuid.uuid4().hex[:8]}"
    settings = {"bootstrap.servers": servers, "transactional.id": topic, "partitioner": "murmur2_random"}
    producer = Producer(settings)
    producer.init_transactions()
    for each in (topic, f"{topic}-offsets"):
        create(servers, each)
        producer.list_topics(each)
    began = time.monotonic()
    for number in range(polls):
        time.sleep(wait_ms / 1000)
        producer.begin_transaction()
        producer.produce_batch(topic, [{"value": value} for value in VALUES])
        producer.produce(f"{topic}-offsets", key=b"source", value=b"%d" % number)
        producer.commit_transaction()
    return polls * RECORDS / (time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", help="a running Kafka; without it one is started")
    parser.add_argument("--rounds", type=int, default=scaled(5))
    parser.add_argument("--polls", type=int, default=scaled(300, 3))
    parser.add_argument("--wait-ms", type=int, default=5, help="how long the source takes for a poll")
    asked = parser.parse_args()
    contenders: dict[str, Callable[[str, int, int], float]] = {
        "raw": with_raw,
        "sequential": lambda *given: with_eosfw(*given, overlap=False),
        "overlapping": lambda *given: with_eosfw(*given, overlap=True),
    }
    with ExitStack() as stack:
        servers = asked.bootstrap_servers or stack.enter_context(kafka())
        rounds = [
            {who: run(servers, asked.polls, asked.wait_ms) for who, run in contenders.items()}
            for _ in range(asked.rounds + 1)
        ][1:]
    rates = {who: round(statistics.median(one[who] for one in rounds)) for who in contenders}
    ratios = {
        f"overlapping/{who}": round(statistics.median(one["overlapping"] / one[who] for one in rounds), 2)
        for who in ("raw", "sequential")
    }
    show({"records_per_second": rates, "ratios": ratios, "goal": GOAL})


if __name__ == "__main__":
    run_main(main)
