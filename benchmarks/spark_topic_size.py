"""Measure how reading a topic in Spark grows with the topic: seconds and memory at 1, 4 and 16 GB of a real Kafka.

What grows is on the line for a topic of 100 GB: seconds a gigabyte, and megabytes that the driver, Spark's JVM and one
Python worker hold at most.

    uv run --isolated --with pyspark==4.3.0 --group test python benchmarks/spark_topic_size.py
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import uuid
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Self

from benchmark import run_main, scaled, show
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from spark_read import cluster, frame, seconds_of

from eosfw_spark import session

RECORD = 1_000
"""Bytes."""
GIGABYTE = scaled(1_000_000)
"""Records."""
PER_TRANSACTION = scaled(10_000)
PARTITIONS = 4
SIZES = (1, 4, 16)
LOOK = 0.05


class Topic:
    """A topic that grows by committed transactions."""

    def __init__(self, servers: str) -> None:
        self.name, self.records = f"size-{uuid.uuid4().hex[:8]}", 0
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic(self.name, PARTITIONS, 1)])[self.name].result(30)
        settings = {"transactional.id": self.name, "linger.ms": 20, "batch.size": 1_000_000, "log_level": 0}
        self._producer = Producer({"bootstrap.servers": servers, "queue.buffering.max.messages": 1_000_000, **settings})
        self._producer.init_transactions(30)

    def grow(self, records: int) -> None:
        """Write until it holds so many records."""
        filler = os.urandom(RECORD)
        while self.records < records:
            self._producer.begin_transaction()
            for number in range(self.records, min(records, self.records + PER_TRANSACTION)):
                self._producer.produce(self.name, filler, partition=number % PARTITIONS)
            self.records = min(records, self.records + PER_TRANSACTION)
            self._producer.commit_transaction(60)


def children(pid: int) -> list[int]:
    """The processes that the threads of a process have started and that still run."""
    found: list[int] = []
    with suppress(OSError):  # it ended meanwhile
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def resident(pid: int) -> int:
    """Megabytes of a process; 0 behind its end."""
    try:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) // 1000 if found else 0


class Memory:
    """The most megabytes that each kind of process held between `with` and its end."""

    def __init__(self, jvm: int) -> None:
        self.most = {"driver": 0, "jvm": 0, "worker": 0}
        self._jvm, self._over = jvm, Event()
        self._looks = Thread(target=self._look)

    def __enter__(self) -> Self:
        self._looks.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._looks.join()

    def _look(self) -> None:
        while not self._over.wait(LOOK):
            # Python workers are forks of a daemon that the JVM has started.
            workers = itertools.chain.from_iterable(map(children, children(self._jvm)))
            now = {"driver": [os.getpid()], "jvm": [self._jvm], "worker": workers}
            self.most = {kind: max(self.most[kind], *map(resident, pids), 0) for kind, pids in now.items()}


def measure(spark: SparkSession, servers: str, topic: Topic, backend: str) -> dict[str, float]:
    """Read the whole topic into nothing."""
    read = frame(spark, "eosfw", servers, topic.name, backend=backend)
    gateway = spark.sparkContext._gateway  # noqa: SLF001 - PySpark shows the JVM's process nowhere else
    with Memory(gateway.proc.pid) as memory:
        spent = seconds_of(read)
    return {"seconds": round(spent, 1), "MB/s": round(topic.records * RECORD / 1e6 / spent, 1), **memory.most}


def slope(sizes: dict[int, dict[str, float]], of: str) -> float:
    """How much more of it the largest topic takes than the one before, which starts no daemon, for each gigabyte."""
    less, most = sorted(sizes)[-2:]
    return round((sizes[most][of] - sizes[less][of]) / (most - less), 2)


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", help="a running Kafka; else one is started")
    parser.add_argument("--cores", type=int, default=2)
    given = parser.parse_args()
    found: dict[str, dict[int, dict[str, float]]] = {"confluent": {}, "memory": {}}
    with cluster(given.servers) as servers:
        topic = Topic(servers)
        running = session.start(cores=given.cores)
        try:
            for size in SIZES:
                topic.grow(size * GIGABYTE)
                for backend, sizes in found.items():
                    sizes[size] = measure(running.spark, servers, topic, backend)
            version = running.spark.version
        finally:
            running.close()
    grows = {
        backend: {of: slope(sizes, of) for of in ("seconds", "driver", "jvm", "worker")}
        for backend, sizes in found.items()
    }
    show({"spark": version, "cores": given.cores, "partitions": PARTITIONS, "GB": found, "for each GB": grows})


if __name__ == "__main__":
    run_main(main)
