"""Measure the embedded broker beside a real Kafka, through the same client: `--bootstrap-servers` names the Kafka.

Both clusters take turns, round by round, so that other load on the machine meets both; every number is a rate, work
over the time it took, the ratio the median of the rounds' ratios. One-record transactions are also measured at
librdkafka's mock cluster in a process of its own: the client waits for whole milliseconds, so no broker can give much
more than that. What the broker's own process spends is written beside, which other load hardly touches. Without
`--bootstrap-servers` the embedded broker is measured alone. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from benchmark import run_main, scaled, show
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from contenders import started

from eosfw.concurrency import ThreadRuntime

VALUE = b"x" * 100
TIMEOUT = 60.0
TRANSACTIONS = scaled(500)
DURATIONS: dict[str, list[float]] = {}
"""The median milliseconds of a transaction in each round; a rate also counts the few slow ones."""
ONE_RECORD = "one_record_transactions_per_second"
GOALS = {
    "records_per_second_1000_per_transaction": 1.3,
    "records_per_second_10000_per_transaction": 1.3,
    ONE_RECORD: 1.5,
    "consumed_per_second": 1.0,
}
BROKER = (sys.executable, "-m", "eosfw_memory", "--listen", "127.0.0.1:0")
MOCK = (
    sys.executable,
    "-c",
    """
import sys
from confluent_kafka import Producer
mock = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "replaced:1", "log_level": 0})
[broker] = mock.list_topics(timeout=10).brokers.values()
print(f"listening on {broker.host}:{broker.port}", flush=True)
sys.stdin.read()
""",
)
EVERYTHING = {"queued.min.messages": 10_000_000, "queued.max.messages.kbytes": 2_000_000}
"""Queues that never fill: a reader with a full queue pauses for a second (`fetch.queue.backoff.ms`)."""


@contextmanager
def embedded_process(*properties: str) -> Iterator[str]:
    """An embedded broker as a process of its own; gives its address."""
    with started("the embedded broker", *BROKER, *properties) as broker:
        yield broker.address()


def spent_by(process: int) -> float:
    """Seconds of a processor that a process has used, over all its threads (Linux only)."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return sum(int(Path(each, "schedstat").read_text().split()[0]) for each in tasks) / 1e9


def up_times(times: int) -> list[float]:
    """Milliseconds from the start of a cluster to its first accepted connection; all imports are done before."""
    from eosfw_memory.cluster import EmbeddedCluster

    found = []
    for _ in range(times + 1):
        began = time.perf_counter()
        cluster = EmbeddedCluster.start({}, ThreadRuntime())
        host, port = cluster.bootstrap_servers.split(":")
        with socket.create_connection((host, int(port))):
            found.append((time.perf_counter() - began) * 1000)
        cluster.close()
    return found[1:]


def new_topic(servers: str) -> str:
    name = f"bench-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(TIMEOUT)
    return name


def producer(servers: str) -> Producer:
    settings = {
        "bootstrap.servers": servers,
        "transactional.id": f"bench-{uuid.uuid4().hex[:8]}",
        "linger.ms": 5,
        "queue.buffering.max.messages": 200_000,
        "log_level": 2,
    }
    made = Producer(settings)
    made.init_transactions(TIMEOUT)
    return made


def records_per_second(servers: str, records: int, per_transaction: int) -> float:
    """How fast records of 100 bytes are committed."""
    topic, made = new_topic(servers), producer(servers)
    batch = [{"value": VALUE}] * per_transaction
    began = time.perf_counter()
    for _ in range(records // per_transaction):
        made.begin_transaction()
        made.produce_batch(topic, batch, partition=0)
        made.commit_transaction(TIMEOUT)
    return records / (time.perf_counter() - began)


def transactions_per_second(servers: str, topic: str | None = None) -> float:
    """The rate of transactions of one record, in a new topic or in the one that is named."""
    topic, made, found = topic or new_topic(servers), producer(servers), []
    for _ in range(TRANSACTIONS):
        began = time.perf_counter()
        made.begin_transaction()
        made.produce(topic, VALUE, partition=0)
        made.commit_transaction(TIMEOUT)
        found.append(time.perf_counter() - began)
    DURATIONS.setdefault(servers, []).append(statistics.median(found) * 1000)
    return TRANSACTIONS / sum(found)


@cache
def filled(servers: str, records: int) -> str:
    """A topic with so many committed records, and a tenth as many aborted among them."""
    topic, made = new_topic(servers), producer(servers)
    batch = [{"value": VALUE}] * 1_000
    for number in range(records // 1_000 * 11 // 10):
        made.begin_transaction()
        made.produce_batch(topic, batch, partition=0)
        if number % 11 == 10:
            made.flush(TIMEOUT)
            made.abort_transaction(TIMEOUT)
        else:
            made.commit_transaction(TIMEOUT)
    return topic


def consumed_per_second(servers: str, records: int) -> float:
    """How fast a reader at read_committed gets committed records to the end of the partition."""
    topic = filled(servers, records)
    settings = {"bootstrap.servers": servers, "group.id": topic, "isolation.level": "read_committed"}
    reader = Consumer(settings | EVERYTHING | {"enable.partition.eof": True, "enable.auto.commit": False})
    reader.assign([TopicPartition(topic, 0, 0)])
    began, seen, ended = time.perf_counter(), 0, False
    while not ended:
        for message in reader.consume(1_000, 0.1):
            error = message.error()
            ended = error is not None and error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001 its public name
            seen += error is None
    spent = time.perf_counter() - began
    reader.close()
    assert seen == records // 1_000 * 1_000, seen
    return seen / spent


def measures(records: int) -> dict[str, Callable[[str], float]]:
    return {
        "records_per_second_1000_per_transaction": lambda at: records_per_second(at, records, 1_000),
        "records_per_second_10000_per_transaction": lambda at: records_per_second(at, records, 10_000),
        ONE_RECORD: transactions_per_second,
        "consumed_per_second": lambda at: consumed_per_second(at, records),
    }


def compare(clusters: Mapping[str, str], rounds: int, records: int, only: str) -> dict[str, dict[str, float]]:
    """The rounds' results by measurement and cluster; a first round warms up."""
    chosen = {name: each for name, each in measures(records).items() if only in name}
    found: dict[str, dict[str, list[float]]] = {name: {} for name in chosen}
    for number in range(rounds + 1):
        for name, measure in chosen.items():
            for cluster, servers in clusters.items():
                if cluster != "mock":
                    value = measure(servers)
                elif name == ONE_RECORD:
                    value = transactions_per_second(servers, "mock")  # which makes topics when they are asked for only
                else:
                    continue
                if number:
                    found[name].setdefault(cluster, []).append(value)
    return {name: _summary(name, by_cluster) for name, by_cluster in found.items()}


def _summary(name: str, by_cluster: Mapping[str, list[float]]) -> dict[str, float]:
    summary = {cluster: round(statistics.median(values)) for cluster, values in by_cluster.items()}
    for other in by_cluster.keys() - {"embedded"}:
        pairs = zip(by_cluster["embedded"], by_cluster[other], strict=True)
        summary[f"embedded/{other}"] = round(statistics.median(ours / theirs for ours, theirs in pairs), 3)
    if {"mock", "kafka"} <= by_cluster.keys():
        pairs = zip(by_cluster["mock"], by_cluster["kafka"], strict=True)
        summary["most_there_can_be"] = round(statistics.median(floor / theirs for floor, theirs in pairs), 3)
    return summary | {"goal": GOALS[name]}


def broker_us(servers: str, process: int) -> float:
    """Microseconds of a processor that the embedded broker needs for a transaction of one record."""
    before = spent_by(process)
    transactions_per_second(servers)
    return (spent_by(process) - before) * 1e6 / TRANSACTIONS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", help="a running real Kafka to compare with")
    parser.add_argument("--rounds", type=int, default=scaled(5))
    parser.add_argument(
        "--records", type=int, default=scaled(1_000_000, least=10_000), help="records of 100 bytes per measurement"
    )
    parser.add_argument("--only", default="", help="a part of the names of measurements, such as one_record")
    arguments = parser.parse_args()
    up = up_times(scaled(20))
    with started("the embedded broker", *BROKER) as broker, started("librdkafka's mock", *MOCK) as mock:
        servers = broker.address()
        clusters = {"embedded": servers, "mock": mock.address()}
        if arguments.bootstrap_servers:
            clusters["kafka"] = arguments.bootstrap_servers
        result: dict[str, object] = {"up_ms": round(statistics.median(up), 3)}
        result |= compare(clusters, arguments.rounds, arguments.records, arguments.only)
        medians = {name: statistics.median(DURATIONS[at][1:]) for name, at in clusters.items() if at in DURATIONS}
        result["one_record_transaction_median_ms"] = {name: round(value, 3) for name, value in medians.items()}
        result["broker_us_per_one_record_transaction"] = round(broker_us(servers, broker.process.pid))
    show(result)


if __name__ == "__main__":
    run_main(main)
