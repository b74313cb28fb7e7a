"""Measure what the framework costs per polled record by the shape of the poll: check, columns, send; without a cluster.

A task's loop reads polls of 1,000 records of 100 bytes; its producer drops every batch. `records` are a list of
SourceRecord, `alternating partitions` and `alternating topics` change with every record, `columns` is a SourceBatch,
`callbacks` have `commit_record`, `connector` asks for the end of its transactions. `send` is one
`TransactionalProducer.send` within a transaction on an embedded broker. All figures are
processor time. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from benchmark import run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.connectors import PollResult
from eosfw.ids import ConnectorTaskId
from eosfw.protocols import Backend, NewTopic
from eosfw.records import ProducerRecord, SourceBatch, SourceRecord
from eosfw.runtime.records.poll_result import read_poll_result
from eosfw.runtime.tasks.transaction import SourceTaskTransaction, TaskOutput
from eosfw.state.storage.pending_offsets import PendingOffsets
from eosfw.state.tasks.boundary import Boundary, PollBoundary, RequestedBoundary, split
from eosfw_confluent.backend import ConfluentBackend
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster

COUNT = 1_000
VALUE = b"x" * 100
PARTITIONS = [{"filename": f"/srv/{name}.csv"} for name in "abc"]
WAIT = 60.0


def record(at: int, topic: str = "t", partition: int = 0) -> SourceRecord:
    return SourceRecord(topic, VALUE, None, PARTITIONS[partition], {"position": at})


SHAPES: Mapping[str, Callable[[], PollResult]] = {
    "records": lambda: [record(at) for at in range(COUNT)],
    "alternating partitions": lambda: [record(at, partition=at % 3) for at in range(COUNT)],
    "alternating topics": lambda: [record(at, "tu"[at % 2]) for at in range(COUNT)],
    "columns": lambda: SourceBatch("t", [VALUE] * COUNT, PARTITIONS[0], {"position": COUNT}),
}


class Dropping:
    """Takes the place of everything that a task's transaction calls: does nothing, whatever it is asked."""

    open_records = 0

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None

    def encode(self, *_: object) -> Sequence[ProducerRecord]:
        return ()


def transaction(*, callbacks: bool, identity: bool) -> SourceTaskTransaction:
    """A task's transaction over a producer that drops what it gets."""
    dropping: Any = Dropping()
    pending = PendingOffsets(str, {})
    plan: Any = SimpleNamespace(
        id=ConnectorTaskId("c", 0),
        exactly_once=True,
        offset_topics=SimpleNamespace(topic=SimpleNamespace(name="offsets")),
        transaction_timeout=60.0,
        identity_headers=identity,
        identity_named=False,
        commit_overlap=False,
    )
    output = TaskOutput(dropping, dropping, dropping, dropping, pending, ThreadRuntime())
    source: Any = SimpleNamespace(commit=lambda: None)
    if callbacks:
        source.commit_record = lambda *_: None
    return SourceTaskTransaction(plan, output, dropping, source)


def microseconds(poll: Callable[[], PollResult], boundary: Boundary, sent: SourceTaskTransaction, polls: int) -> float:
    """The processor time per record of so many polls, without that of the polls themselves."""
    given = [poll() for _ in range(polls)]
    began = time.process_time()
    for polled in given:
        for batches, _ in split(read_poll_result(polled, "c-0"), boundary, lambda: 0.0):
            sent.send(batches)
        sent.commit()
    return (time.process_time() - began) * 1e6 / polls / COUNT


def send_us(backend: Backend, records: int) -> float:
    """The sending thread's processor time for one `send` within a transaction."""
    topic = f"bench-{uuid.uuid4().hex[:8]}"
    backend.admin().create_topics([NewTopic(topic)])
    producer, one = backend.producer(topic), ProducerRecord(topic, VALUE, partition=0)
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    began = time.thread_time()
    for _ in range(records):
        producer.send(one)
    spent = time.thread_time() - began
    producer.commit_transaction(WAIT)
    return spent * 1e6 / records


def sends(rounds: int) -> dict[str, float]:
    """`send` on the embedded broker, by client."""
    runtime = ThreadRuntime()
    cluster = EmbeddedCluster.start({}, runtime)
    given = {"bootstrap.servers": cluster.bootstrap_servers}
    backends: dict[str, Backend] = {
        "memory": MemoryBackend.connect(given, runtime),
        "confluent": ConfluentBackend.connect(given, runtime),
    }
    found = {name: min(send_us(one, scaled(3_000)) for _ in range(rounds)) for name, one in backends.items()}
    for one in backends.values():
        one.close()
    cluster.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=scaled(5))
    parser.add_argument("--polls", type=int, default=scaled(60))
    asked = parser.parse_args()

    def least(shape: str, boundary: Callable[[], Boundary] = PollBoundary, **how: bool) -> float:
        measured = [
            microseconds(
                SHAPES[shape],
                boundary(),
                transaction(callbacks=how.get("callbacks", False), identity=how.get("identity", False)),
                asked.polls,
            )
            for _ in range(asked.rounds)
        ]
        return round(min(measured), 3)

    found = {shape: least(shape) for shape in SHAPES}
    found["records with identity"] = least("records", identity=True)
    found["records with callbacks"] = least("records", callbacks=True)
    found["records, connector"] = least("records", RequestedBoundary)
    sent = {name: round(value, 2) for name, value in sends(asked.rounds).items()}
    show({"microseconds_per_record": found, "microseconds_per_send": sent})


if __name__ == "__main__":
    run_main(main)
