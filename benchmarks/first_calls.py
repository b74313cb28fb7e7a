"""Measure the first call of new clients, by each backend: on this machine, and where each request takes `--delay` ms.

Each call has a client of its own, so that it meets what only new ones do: to look for the cluster's brokers, for a
coordinator, for leaders. It comes at any moment of the first two requests of the client, or shortly after.
`--tree DIR` measures another checkout as well, such as `git worktree add /tmp/before HEAD~1` makes. Prints one JSON
object: milliseconds, the median and the longest, and how many took more than 300.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmark import run_main, scaled, show

ROOT = Path(__file__).parents[1]
SOURCES = ("src", "backends/confluent/src", "backends/kafka_python/src", "backends/memory/src")
TOPIC = "t"
WAIT = 30.0
SLOW = 0.3
_LONGEST_PAUSE = 0.002


def calls() -> Mapping[str, Callable[[Any, int], Callable[[], object]]]:
    """The calls by their names; each is given a new backend and its number, makes a client, and returns its call."""
    from eosfw.ids import TopicPartition
    from eosfw.protocols import IsolationLevel, NewTopic
    from eosfw.records import OffsetRange, ProducerRecord

    first, committed = TopicPartition(TOPIC, 0), IsolationLevel.READ_COMMITTED

    def on_admin(call: Callable[[Any, int], object]) -> Callable[[Any, int], Callable[[], object]]:
        def prepare(backend: Any, number: int) -> Callable[[], object]:
            admin = backend.admin()
            return lambda: call(admin, number)

        return prepare

    def read(backend: Any, _: int) -> Callable[[], object]:
        reader = backend.reader(committed)
        return lambda: list(reader.read({first: OffsetRange(0, 1)}, WAIT))

    def send_without_a_transaction(backend: Any, _: int) -> Callable[[], object]:
        producer = backend.producer(None)
        return lambda: (producer.send(ProducerRecord(TOPIC, b"v", partition=1)), producer.flush(WAIT))

    def commit(backend: Any, number: int) -> Callable[[], object]:
        producer = backend.producer(f"id-{number}")

        def call() -> None:
            producer.init_transactions(WAIT)
            producer.begin_transaction()
            producer.send(ProducerRecord(TOPIC, b"v", partition=1))
            producer.commit_transaction(WAIT)

        return call

    return {
        "end offsets": on_admin(lambda admin, _: admin.end_offsets([first], committed)),
        "partitions": on_admin(lambda admin, _: admin.partitions([TOPIC])),
        "create a topic": on_admin(lambda admin, number: admin.create_topics([NewTopic(f"{TOPIC}-{number}")])),
        "read a record": read,
        "send without a transaction": send_without_a_transaction,
        "initialise and commit": commit,
    }


def measured(delay: float, number: int) -> dict[str, dict[str, dict[str, float]]]:
    """Each call by each backend, so many times."""
    from eosfw.concurrency import ThreadRuntime
    from eosfw.records import ProducerRecord
    from eosfw_confluent.backend import ConfluentBackend
    from eosfw_kafka_python.backend import KafkaPythonBackend
    from eosfw_memory.client.backend import MemoryBackend
    from eosfw_memory.cluster import EmbeddedCluster
    from eosfw_memory.faults import Delay

    runtime, found = ThreadRuntime(), dict[str, dict[str, dict[str, float]]]()
    pauses = random.Random(1)
    for name, call in calls().items():
        found[name] = {}
        for backend in (MemoryBackend, ConfluentBackend, KafkaPythonBackend):
            with closing(EmbeddedCluster.start({}, runtime)) as cluster:
                cluster.broker.topics.create(TOPIC, 2, {})
                given = {"bootstrap.servers": cluster.bootstrap_servers}
                with closing(MemoryBackend.connect(given, runtime)) as filler:
                    producer = filler.producer(None)
                    producer.send(ProducerRecord(TOPIC, b"v", partition=0))
                    producer.flush(WAIT)
                if delay:
                    cluster.faults.add(Delay("any", seconds=delay, times=sys.maxsize))
                took = []
                for each in range(number):
                    with closing(backend.connect({**given, **_over_a_socket(backend.name)}, runtime)) as client:
                        made = call(client, each)
                        time.sleep(pauses.random() * (2 * delay + _LONGEST_PAUSE))
                        began = time.perf_counter()
                        made()
                        took.append(time.perf_counter() - began)
            found[name][backend.name] = {
                "median": round(1000 * statistics.median(took), 1),
                "longest": round(1000 * max(took)),
                "slow": sum(one > SLOW for one in took),
            }
    return found


def _over_a_socket(backend: str) -> Mapping[str, str]:
    return {"eosfw.transport": "socket"} if backend == "memory" else {}


def measured_tree(tree: Path, delay: float, number: int) -> Any:
    """What a process finds that uses the sources of a checkout."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(tree / each) for each in SOURCES)}
    command = [sys.executable, "-W", "ignore", __file__, "--child", f"--delay={1000 * delay}", f"--calls={number}"]
    return json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, action="append", default=[], help="another checkout")
    parser.add_argument("--delay", type=float, default=20.0, help="milliseconds")
    parser.add_argument("--calls", type=int, default=scaled(50))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measured(arguments.delay / 1000, arguments.calls)))
        return
    delays = (0.0, arguments.delay / 1000)
    show(
        {
            tree.name or "this": {
                f"{1000 * delay:g} ms a request": measured_tree(tree, delay, arguments.calls) for delay in delays
            }
            for tree in (ROOT, *arguments.tree)
        }
    )


if __name__ == "__main__":
    run_main(main)
