"""Measure whether a commit costs the same however much lies around it (goal 14, commit latency of KIP-98's broker).

By direct calls, in processor time of the one thread that does everything: aborted transactions in the partition's
history, open transactions beside the one that commits, partitions of the cluster, partitions the transaction touches.
Small and large settings take turns, round by round. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmark import run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.protocols import NewTopic, TransactionalProducer
from eosfw.records import ProducerRecord
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster

RUNTIME = ThreadRuntime()
WAIT = 60.0
TOPIC = "flat"
GOAL = 1.2
"""The most that a commit beside the larger number may take, relative to the smaller one."""


@contextmanager
def fresh(partitions: int = 1, other_partitions: int = 0) -> Iterator[MemoryBackend]:
    """A client of a cluster of its own."""
    cluster = EmbeddedCluster.start({"listeners": ""}, RUNTIME)
    backend = MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, RUNTIME)
    try:
        topics = [NewTopic(TOPIC, partitions)]
        backend.admin().create_topics(topics + ([NewTopic("others", other_partitions)] if other_partitions else []))
        yield backend
    finally:
        backend.close()
        cluster.close()


def begun(backend: MemoryBackend, name: str) -> TransactionalProducer:
    """A producer with a record in an open transaction."""
    made = backend.producer(name)
    made.init_transactions(WAIT)
    made.begin_transaction()
    made.send(ProducerRecord(TOPIC, b"v", partition=0))
    made.flush(WAIT)
    return made


def commit_us(backend: MemoryBackend, times: int, touched: int = 1) -> float:
    """The median processor time of a transaction with one record in each touched partition."""
    made = backend.producer("measured")
    made.init_transactions(WAIT)
    found = []
    for _ in range(times):
        began = time.thread_time()
        made.begin_transaction()
        for partition in range(touched):
            made.send(ProducerRecord(TOPIC, b"v", partition=partition))
        made.commit_transaction(WAIT)
        found.append((time.thread_time() - began) * 1e6)
    return statistics.median(found)


def beside_aborted(number: int, times: int) -> float:
    with fresh() as backend:
        aborting = backend.producer("aborting")
        aborting.init_transactions(WAIT)
        for _ in range(number):
            aborting.begin_transaction()
            aborting.send(ProducerRecord(TOPIC, b"v", partition=0))
            aborting.flush(WAIT)
            aborting.abort_transaction(WAIT)
        return commit_us(backend, times)


def beside_open(number: int, times: int) -> float:
    with fresh() as backend:
        holders = [begun(backend, f"open-{each}") for each in range(number)]
        spent = commit_us(backend, times)
        assert len(holders) == number
        return spent


def beside_partitions(number: int, times: int) -> float:
    with fresh(other_partitions=number) as backend:
        return commit_us(backend, times)


def touching(number: int, times: int) -> float:
    with fresh(partitions=100) as backend:
        return commit_us(backend, max(times // number, 20), number) / number


SETTINGS = {
    "aborted_10_and_100000": (beside_aborted, 10, scaled(100_000)),
    "open_1_and_1000": (beside_open, 1, scaled(1_000)),
    "partitions_10_and_10000": (beside_partitions, 10, scaled(10_000)),
    "each_touched_10_and_100": (touching, 10, 100),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=scaled(5))
    parser.add_argument("--times", type=int, default=scaled(2_000), help="transactions per measurement")
    arguments = parser.parse_args()
    result: dict[str, object] = {}
    for name, (measure, few, many) in SETTINGS.items():
        pairs = [(measure(few, arguments.times), measure(many, arguments.times)) for _ in range(arguments.rounds)]
        small, large = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratio = statistics.median(many / few for few, many in pairs)
        result[name] = {
            "few_us": round(small, 1), "many_us": round(large, 1), "ratio": round(ratio, 2), "met": ratio <= GOAL,
        }  # fmt: skip
    show(result)


if __name__ == "__main__":
    run_main(main)
