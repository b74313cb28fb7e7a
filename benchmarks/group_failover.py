"""Measure how soon a group of three workers goes on when one is killed, beside Kafka Connect's.

Twelve connectors with a file each, which grows steadily; one of the workers that does not lead is killed by SIGKILL.
The time is from the kill to the first record at read_committed of the last file that had to move, and all of it beyond
`session.timeout.ms` is the group's own. The groups take turns on one real Kafka. Then, for eosfw alone, one connector
with 100 tasks gets another topic: the time until each task writes there, fencing of the old generation included.
Prints one JSON object; a real Kafka is started unless --bootstrap-servers names one.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from benchmark import ContenderError, run_main, scaled, show
from confluent_kafka import Consumer, TopicPartition
from connector_rate import create, kafka

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from clients.connect import Worker, launch_eosfw
from clients.java import Java
from groups.worker_processes import WorkerGroup

FILES, WORKERS = 12, 3
SESSION = 6.0
WITHIN = 120.0


class Files:
    """Files that grow while `feed` is called, and the records that came of them."""

    def __init__(self, folder: Path, servers: str, topic: str) -> None:
        self.paths = [folder / f"{number}.txt" for number in range(FILES)]
        for path in self.paths:
            path.touch()
        self.topic, self.count = topic, 0
        self.seen: list[list[float]] = [[] for _ in self.paths]
        self._consumer = Consumer(
            {"bootstrap.servers": servers, "group.id": "readers", "isolation.level": "read_committed", "log_level": 0}
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])

    def feed(self, seconds: float) -> None:
        """Let the files grow and note when records come."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for number, path in enumerate(self.paths):
                with path.open("a") as file:
                    file.write(f"{number}:{self.count}\n")
            self.count += 1
            for message in self._consumer.consume(10_000, 0.1):
                if message.error() is None:
                    self.seen[int(message.value().partition(b":")[0])].append(time.monotonic())

    def feed_until(self, happened: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + WITHIN
        while not happened():
            if time.monotonic() > deadline:
                raise ContenderError(f"waited {WITHIN:g} s for {what}")
            self.feed(0.2)

    def close(self) -> None:
        self._consumer.close()


def failover(files: Files, workers: list[Worker], name: str) -> dict[str, float]:
    """Seconds from the kill of a worker to the first record of the last connector that it had."""
    names = [f"{files.topic}-{number}" for number in range(FILES)]
    for connector, path in zip(names, files.paths, strict=True):
        config = {"connector.class": "FileStreamSource", "tasks.max": 1, "file": path, "topic": files.topic}
        workers[0].configure(connector, config)
    files.feed_until(lambda: all(files.seen), f"records of each connector of {name}")
    files.feed_until(lambda: len(owners(workers[0], names)) == FILES, f"{name} to run each connector")
    files.feed(scaled(3))
    owned = owners(workers[0], names)
    victim = workers[-1]
    moved = [number for number, one in enumerate(names) if owned[one] == victim.address]
    if not moved:
        raise ContenderError(f"{name}: the worker that is killed has no task")
    killed = time.monotonic()
    victim.program.kill()
    # What was committed before the kill is read within a moment; later records come of the worker that took over.
    begins = killed + SESSION / 2
    files.feed_until(lambda: all(files.seen[one][-1] > begins for one in moved), f"{name} to go on")
    back = [next(at for at in files.seen[one] if at > begins) - killed for one in moved]
    return {"moved": len(moved), "first_s": round(min(back), 2), "last_s": round(max(back), 2)}


def owners(worker: Worker, names: list[str]) -> dict[str, str]:
    found = {}
    for name in names:
        if owner := worker.running_on(name):
            found[name] = owner
    return found


@contextmanager
def group(java: Java, servers: str, folder: Path, launch: Any) -> Iterator[list[Worker]]:
    folder.mkdir()
    name = f"failover-{uuid.uuid4().hex[:8]}"
    workers = [Worker(java, folder, name, servers, launch) for _ in range(WORKERS)]
    try:
        for worker in workers:
            worker.ready()
        yield workers
    finally:
        for worker in workers:
            worker.program.kill()


def reconfigured(servers: str, folder: Path, tasks: int) -> float:
    """Seconds from another configuration of a connector to a record of each of its tasks under it."""
    folder.mkdir()
    topics = [new_topic(servers), new_topic(servers)]
    workers = WorkerGroup(folder, servers, f"reconfigured-{uuid.uuid4().hex[:8]}", "confluent")
    try:
        workers.add(WORKERS)
        config = {"connector_class": "paced", "streams": tasks, "tasks_max": tasks, "rate": 20}
        workers.configure("paced", **config, topic=topics[0])
        streams(servers, topics[0], tasks)
        began = time.monotonic()
        workers.configure("paced", **config, topic=topics[1])
        streams(servers, topics[1], tasks)
        return round(time.monotonic() - began, 2)
    finally:
        workers.close()


def streams(servers: str, topic: str, count: int) -> None:
    """Read until so many streams were seen."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "readers", "isolation.level": "read_committed", "log_level": 0}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    seen: set[bytes] = set()
    deadline = time.monotonic() + WITHIN
    while len(seen) < count:
        if time.monotonic() > deadline:
            raise ContenderError(f"{len(seen)} of {count} tasks write to {topic}")
        seen |= {one.value().partition(b":")[0] for one in consumer.consume(10_000, 0.1) if one.error() is None}
    consumer.close()


def new_topic(servers: str) -> str:
    topic = f"failover-{uuid.uuid4().hex[:8]}"
    create(servers, topic)
    return topic


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers")
    parser.add_argument("--rounds", type=int, default=scaled(3))
    given = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {"eosfw": [], "kafka-connect": []}
    running = nullcontext(given.bootstrap_servers) if given.bootstrap_servers else kafka()
    with running as servers, tempfile.TemporaryDirectory() as folder:
        java = Java(Path(folder))
        for number in range(given.rounds):
            for name, launch in (("eosfw", launch_eosfw), ("kafka-connect", None)):
                with group(java, servers, Path(folder, f"{name}-{number}"), launch) as workers:
                    files = Files(Path(folder, f"{name}-{number}"), servers, new_topic(servers))
                    found[name].append(failover(files, workers, name))
                    files.close()
        tasks = scaled(100, 3)
        again = reconfigured(servers, Path(folder, "reconfigured"), tasks)
    last = {name: statistics.median(one["last_s"] for one in each) for name, each in found.items()}
    show(
        {
            "failover": found,
            "beyond_session_timeout_s": {name: round(seconds - SESSION, 2) for name, seconds in last.items()},
            "ratio": round(last["eosfw"] / last["kafka-connect"], 2),
            "reconfigured": {"tasks": tasks, "seconds": again},
        }
    )
    return 0


if __name__ == "__main__":
    run_main(main)
