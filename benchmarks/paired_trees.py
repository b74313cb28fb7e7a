"""Compare two copies of this repository in turn: the embedded broker with an optimisation, and without it.

`--with` and `--without` name two checkouts, such as `git worktree add /tmp/without HEAD~1` makes. Each gets a process
that holds a broker and its clients; the processes take turns, measurement by measurement, so other load on the machine
meets both. A ratio is the time without the optimisation over the time with it (the median of the rounds' ratios): 1.10
means that it saves a tenth. `cpu` is the same by the processor time of the whole process. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmark import run_main, scaled, show

ROOT = Path(__file__).parents[1]
WAIT = 60.0
VALUE = b"x" * 100
SOURCES = ("src", "backends/memory/src", "backends/confluent/src", "backends/kafka_python/src")
SIZES = (1, 1_000, 10_000)


# --- in the process of one checkout


class Bench:
    """A broker with its clients; each measurement returns how many units of work it did."""

    def __init__(self) -> None:
        from eosfw.concurrency import ThreadRuntime
        from eosfw_confluent.backend import ConfluentBackend
        from eosfw_kafka_python.backend import KafkaPythonBackend
        from eosfw_memory.client.backend import MemoryBackend
        from eosfw_memory.cluster import EmbeddedCluster

        self._runtime = runtime = ThreadRuntime()
        self._start = lambda: EmbeddedCluster.start({}, runtime)
        self._cluster = self._start()
        given = {"bootstrap.servers": self._cluster.bootstrap_servers}
        self._clients = {
            "memory": MemoryBackend.connect(given, runtime),
            "memory_socket": MemoryBackend.connect({**given, "eosfw.transport": "socket"}, runtime),
            "confluent": ConfluentBackend.connect(given, runtime),
            "kafka_python": KafkaPythonBackend.connect(given, runtime),
        }
        self._producers: dict[str, Any] = {}
        self._victims: list[str] = []
        self._filled: str | None = None

    def measurements(self) -> Mapping[str, Callable[[], int]]:
        """Each by its name."""
        found: dict[str, Callable[[], int]] = {"start": self._starts, "fence_memory": self._fence}
        for client in self._clients:
            found[f"read_{client}"] = lambda client=client: self._read(client)
            for size in SIZES:
                found[f"commit_{size}_{client}"] = lambda client=client, size=size: self._commit(client, size)
        return found

    def prepare(self, name: str) -> None:
        """Do what a measurement needs before its time begins."""
        if name.startswith("fence"):
            self._open_transactions(scaled(500))
        elif name.startswith("read"):
            self._fill()

    def _starts(self) -> int:
        times = scaled(20)
        for _ in range(times):
            self._start().close()
        return times

    def _topic(self) -> str:
        from eosfw.protocols import NewTopic

        name = f"bench-{uuid.uuid4().hex[:8]}"
        self._clients["memory"].admin().create_topics([NewTopic(name)])
        return name

    def _producer(self, client: str) -> tuple[Any, str]:
        if client not in self._producers:
            made = self._clients[client].producer(f"bench-{uuid.uuid4().hex[:8]}")
            made.init_transactions(WAIT)
            self._producers[client] = made, self._topic()
        return self._producers[client]

    def _commit(self, client: str, size: int) -> int:
        from eosfw.records import ProducerBatch

        producer, topic = self._producer(client)
        batch = ProducerBatch(topic, [VALUE] * size, partition=0)
        times = scaled({1: 300, 1_000: 40, 10_000: 6}[size])
        for _ in range(times):
            producer.begin_transaction()
            producer.send_batch(batch)
            producer.commit_transaction(WAIT)
        return times

    def _open_transactions(self, times: int) -> None:
        from eosfw.records import ProducerBatch

        topic = self._topic()
        self._victims = [f"bench-{uuid.uuid4().hex[:10]}" for _ in range(times)]
        for name in self._victims:
            made = self._clients["memory"].producer(name)
            made.init_transactions(WAIT)
            made.begin_transaction()
            made.send_batch(ProducerBatch(topic, [VALUE], partition=0))
            made.flush(WAIT)

    def _fence(self) -> int:
        from eosfw.fence_producers_result import FenceProducersOptions

        admin = self._clients["memory"].admin()
        admin.fence_producers(self._victims, FenceProducersOptions(WAIT)).all().result(WAIT)
        return len(self._victims)

    def _fill(self) -> None:
        from eosfw.records import ProducerBatch

        if self._filled is not None:
            return
        self._filled = self._topic()
        producer = self._clients["memory"].producer("bench-fill")
        producer.init_transactions(WAIT)
        for _ in range(scaled(100)):
            producer.begin_transaction()
            producer.send_batch(ProducerBatch(self._filled, [VALUE] * 1_000, partition=0))
            producer.commit_transaction(WAIT)

    def _read(self, client: str) -> int:
        from eosfw.ids import TopicPartition
        from eosfw.protocols import IsolationLevel
        from eosfw.records import OffsetRange

        backend = self._clients[client]
        one = TopicPartition(self._filled or "", 0)
        end = backend.admin().end_offsets([one], IsolationLevel.READ_COMMITTED)[one]
        reader = backend.reader(IsolationLevel.READ_COMMITTED)
        return sum(len(batch) for batch in reader.read({one: OffsetRange(0, end)}, WAIT))


def work() -> None:
    """Answer each name of a measurement on stdin with its seconds per unit, by the clock and by the processor."""
    bench = Bench()
    answers, sys.stdout = sys.stdout, sys.stderr
    measurements = bench.measurements()
    print(json.dumps(list(measurements)), file=answers, flush=True)
    for line in sys.stdin:
        name = line.strip()
        bench.prepare(name)
        began, began_cpu = time.perf_counter(), time.process_time()
        units = measurements[name]()
        spent = time.perf_counter() - began, time.process_time() - began_cpu
        print(json.dumps([each / units for each in spent]), file=answers, flush=True)
    os._exit(0)  # nothing in there is worth an orderly end


# --- in the process that compares


class Checkout:
    """The process of one checkout."""

    def __init__(self, path: Path) -> None:
        sources = os.pathsep.join(str(path.resolve() / each) for each in SOURCES)
        command = [sys.executable, __file__, "--work"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": sources}
        )
        self.measurements: list[str] = self._answer()

    def measure(self, name: str) -> list[float]:
        """Seconds per unit, by the clock and by the processor."""
        assert self._process.stdin is not None
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        found: list[float] = self._answer()
        return found

    def close(self) -> None:
        self._process.communicate()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


def compare(one: Checkout, other: Checkout, names: list[str], rounds: int) -> dict[str, object]:
    """What the optimisation saves in each measurement; a first round warms up."""
    found: dict[str, object] = {}
    for name in names:
        pairs = []
        for number in range(rounds + 1):
            first, second = (one, other) if number % 2 else (other, one)
            taken = {each: each.measure(name) for each in (first, second)}
            if number:
                pairs.append((taken[one], taken[other]))
        found[name] = {
            "with_us": round(statistics.median(with_[0] for with_, _ in pairs) * 1e6, 2),
            "ratio": round(statistics.median(without[0] / with_[0] for with_, without in pairs), 3),
            "cpu": round(statistics.median(without[1] / with_[1] for with_, without in pairs), 3),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--with", dest="optimised", type=Path, default=ROOT, help="the checkout that has it")
    parser.add_argument("--without", dest="plain", type=Path, default=ROOT, help="the checkout that lacks it")
    parser.add_argument("--rounds", type=int, default=scaled(15))
    parser.add_argument("--only", default="", help="parts of names of measurements, separated by commas")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        work()
        return
    one, other = Checkout(asked.optimised), Checkout(asked.plain)
    names = [each for each in one.measurements if any(part in each for part in asked.only.split(","))]
    try:
        found = compare(one, other, names, asked.rounds)
    finally:
        one.close()
        other.close()
    show(found)


if __name__ == "__main__":
    run_main(main)
