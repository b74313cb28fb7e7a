"""Measure what identity headers cost on the memory backend, by direct calls, 1000 records of 100 bytes a transaction.

The same producer sends them plain, with headers in whole batches (what the worker does), and with headers one by one
(what it did before, and still does where batches carry none), in turn; ratios are those of the medians. `making` is
the part of making the headers, without sending them. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import statistics
import time
import uuid
from collections.abc import Callable

from benchmark import run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.identity import IdentityHeaders, identity_headers
from eosfw.protocols import NewTopic, TransactionalProducer
from eosfw.records import ProducerBatch, ProducerRecord
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster

BATCH = 1000
WAIT = 60.0
VALUES = [b"x" * 100] * BATCH
PARTITION = {"filename": "/srv/flights/flights.csv"}
Send = Callable[[TransactionalProducer, str, int], None]


def offsets(number: int) -> list[dict[str, str | int]]:
    """As the file connector states them."""
    return [{"position": 100 * (number + at), "id": "0123456789abcdef0123456789abcdef"} for at in range(BATCH)]


def plain(producer: TransactionalProducer, topic: str, number: int) -> None:
    offsets(number)  # a connector makes them in each case
    producer.send_batch(ProducerBatch(topic, VALUES, partition=0))


def batched(producer: TransactionalProducer, topic: str, number: int) -> None:
    headers = IDENTITY.column([PARTITION] * len(VALUES), offsets(number))
    producer.send_batch(ProducerBatch(topic, VALUES, partition=0, headers=headers))


def one_by_one(producer: TransactionalProducer, topic: str, number: int) -> None:
    for value, offset in zip(VALUES, offsets(number), strict=True):
        headers = identity_headers("flights", PARTITION, offset)
        producer.send(ProducerRecord(topic, value, partition=0, headers=headers))


def making(_producer: TransactionalProducer, _topic: str, number: int) -> None:
    IDENTITY.column([PARTITION] * len(VALUES), offsets(number))


IDENTITY = IdentityHeaders("flights")
SENDS: dict[str, Send] = {"plain": plain, "batched": batched, "one_by_one": one_by_one, "making": making}


def microseconds(producer: TransactionalProducer, topic: str, send: Send, batches: int) -> float:
    """The time per record over so many transactions."""
    began = time.perf_counter()
    for number in range(batches):
        producer.begin_transaction()
        send(producer, topic, number)
        producer.commit_transaction(WAIT)
    return (time.perf_counter() - began) * 1e6 / batches / BATCH


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=scaled(9))
    parser.add_argument("--batches", type=int, default=scaled(50), help="transactions in each measurement")
    asked = parser.parse_args()
    runtime = ThreadRuntime()
    found: dict[str, list[float]] = {name: [] for name in SENDS}
    for _ in range(asked.rounds):
        cluster = EmbeddedCluster.start({}, runtime)  # a fresh one, so that memory does not grow with the rounds
        backend = MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
        backend.admin().create_topics([NewTopic("bench")])
        producer = backend.producer(f"bench-{uuid.uuid4().hex[:8]}")
        producer.init_transactions(WAIT)
        for name, send in SENDS.items():
            found[name].append(microseconds(producer, "bench", send, asked.batches))
        backend.close()
        cluster.close()
    medians = {name: round(statistics.median(values), 3) for name, values in found.items()}
    ratios = {f"{name}/plain": round(medians[name] / medians["plain"], 2) for name in ("batched", "one_by_one")}
    show({"microseconds_per_record": medians, "ratios": ratios})


if __name__ == "__main__":
    run_main(main)
