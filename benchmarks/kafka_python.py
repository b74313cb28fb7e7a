"""Measure the backend kafka-python beside bare loops of its library (goal 4), fencing by it (goal 7).

On an embedded broker in its own process, and on the Kafka that `--bootstrap-servers` names, contenders take turns,
round by round; ratios are the medians of the rounds' own. One bare loop has the library's defaults, the other the
arguments that the backend gives it. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import statistics
import time
import uuid
from collections.abc import Callable

from benchmark import run_main, scaled, show
from embedded_broker import embedded_process
from kafka import KafkaConsumer, KafkaProducer

from eosfw.concurrency import ThreadRuntime
from eosfw.config.translation import Client
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, NewTopic
from eosfw.records import OffsetRange, ProducerBatch, ProducerRecord
from eosfw_kafka_python.backend import KafkaPythonBackend
from eosfw_kafka_python.properties import KAFKA_PYTHON

GOALS = {"ours_over_defaults": 0.85, "ours_over_same_arguments": 0.85, "fence_fifty_s": 0.5}
VALUE = b"x" * 100
PER_TRANSACTION = scaled(1_000, least=10)
WAIT = 60.0
RUNTIME = ThreadRuntime()
HEADERS = (("partition", b"0123456789"), ("offset", b"0123456789"))


def name() -> str:
    return f"bench-{uuid.uuid4().hex[:10]}"


def new_topic(servers: str) -> str:
    topic = name()
    backend = KafkaPythonBackend.connect({"bootstrap.servers": servers}, RUNTIME)
    backend.admin().create_topics([NewTopic(topic)])
    backend.close()
    return topic


def raw(servers: str, transactions: int, **arguments: object) -> float:
    """Records per second of begin, send, commit by hand."""
    topic = new_topic(servers)
    made = KafkaProducer(bootstrap_servers=servers, transactional_id=name(), **arguments)
    made.init_transactions()
    began = time.perf_counter()
    for _ in range(transactions):
        made.begin_transaction()
        for _ in range(PER_TRANSACTION):
            made.send(topic, VALUE, partition=0)
        made.commit_transaction()
    spent = time.perf_counter() - began
    made.close(timeout=5)
    return transactions * PER_TRANSACTION / spent


def same_arguments(servers: str, transactions: int) -> float:
    said = KAFKA_PYTHON.translate({"bootstrap.servers": servers}, Client.PRODUCER)
    said.pop("bootstrap_servers")
    return raw(servers, transactions, **said)


def ours(servers: str, transactions: int, *, one_by_one: bool = False, headers: bool = False) -> float:
    topic = new_topic(servers)
    backend = KafkaPythonBackend.connect({"bootstrap.servers": servers}, RUNTIME)
    made = backend.producer(name())
    made.init_transactions(WAIT)
    column = [HEADERS] * PER_TRANSACTION if headers else None
    batch = ProducerBatch(topic, [VALUE] * PER_TRANSACTION, partition=0, headers=column)
    record = ProducerRecord(topic, VALUE, partition=0)
    began = time.perf_counter()
    for _ in range(transactions):
        made.begin_transaction()
        if one_by_one:
            for _ in range(PER_TRANSACTION):
                made.send(record)
        else:
            made.send_batch(batch)
        made.commit_transaction(WAIT)
    spent = time.perf_counter() - began
    backend.close()
    return transactions * PER_TRANSACTION / spent


def fence(servers: str, victims: int = scaled(50)) -> float:
    """Seconds to shut so many holders out, each in the middle of a transaction."""
    topic = new_topic(servers)
    backend = KafkaPythonBackend.connect({"bootstrap.servers": servers}, RUNTIME)
    names = [name() for _ in range(victims)]
    for each in names:
        holder = backend.producer(each)
        holder.init_transactions(WAIT)
        holder.begin_transaction()
        holder.send(ProducerRecord(topic, b"v", partition=0))
        holder.flush(WAIT)
    began = time.perf_counter()
    outcomes = backend.admin().fence_producers(names).outcomes()
    spent = time.perf_counter() - began
    assert not any(outcomes.values())
    backend.close()
    return spent


def filled(servers: str, records: int) -> str:
    topic = new_topic(servers)
    backend = KafkaPythonBackend.connect({"bootstrap.servers": servers}, RUNTIME)
    made = backend.producer(name())
    made.init_transactions(WAIT)
    for start in range(0, records, 10_000):
        made.begin_transaction()
        made.send_batch(ProducerBatch(topic, [VALUE] * min(10_000, records - start), partition=0))
        made.commit_transaction(WAIT)
    backend.close()
    return topic


def read_raw(servers: str, topic: str, records: int) -> float:
    consumer = KafkaConsumer(
        topic, bootstrap_servers=servers, auto_offset_reset="earliest", isolation_level="read_committed"
    )
    began, seen = time.perf_counter(), 0
    while seen < records:
        seen += sum(map(len, consumer.poll(timeout_ms=1000).values()))
    spent = time.perf_counter() - began
    consumer.close()
    return seen / spent


def read_ours(servers: str, topic: str, records: int) -> float:
    backend = KafkaPythonBackend.connect({"bootstrap.servers": servers}, RUNTIME)
    one = TopicPartition(topic, 0)
    (end,) = backend.admin().end_offsets([one], IsolationLevel.READ_COMMITTED).values()
    began = time.perf_counter()
    batches = backend.reader(IsolationLevel.READ_COMMITTED).read({one: OffsetRange(0, end)}, WAIT)
    seen = sum(map(len, batches))
    spent = time.perf_counter() - began
    assert seen == records
    backend.close()
    return seen / spent


CONTENDERS: dict[str, Callable[[str, int], float]] = {
    "defaults": raw,
    "same_arguments": same_arguments,
    "ours": ours,
    "ours_one_by_one": lambda servers, many: ours(servers, many, one_by_one=True),
    "ours_with_headers": lambda servers, many: ours(servers, many, headers=True),
}


def measure(servers: str, rounds: int, transactions: int) -> dict[str, object]:
    """Medians over the rounds; a first one warms up."""
    found: dict[str, list[float]] = {}
    records = transactions * PER_TRANSACTION
    topic = filled(servers, records)
    for number in range(rounds + 1):
        told = {each: call(servers, transactions if number else scaled(5)) for each, call in CONTENDERS.items()}
        told["ours_over_defaults"] = told["ours"] / told["defaults"]
        told["ours_over_same_arguments"] = told["ours"] / told["same_arguments"]
        told["headers_over_plain"] = told["ours_with_headers"] / told["ours"]
        told["read"] = read_ours(servers, topic, records)
        told["read_over_raw"] = told["read"] / read_raw(servers, topic, records)
        told["fence_fifty_s"] = fence(servers)
        for each, value in told.items():
            if number:
                found.setdefault(each, []).append(value)
    return {each: float(f"{statistics.median(values):.3g}") for each, values in found.items()}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bootstrap-servers")
    options.add_argument("--rounds", type=int, default=scaled(5))
    options.add_argument("--transactions", type=int, default=scaled(50))
    given = options.parse_args()
    with embedded_process() as address:
        report: dict[str, object] = {"goals": GOALS, "embedded": measure(address, given.rounds, given.transactions)}
    if given.bootstrap_servers:
        report["kafka"] = measure(given.bootstrap_servers, given.rounds, given.transactions)
    show(report)


if __name__ == "__main__":
    run_main(main)
