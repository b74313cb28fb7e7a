"""Measure the embedded broker beside a real Kafka, through the same client: `--bootstrap-servers` names the Kafka.

Both clusters take turns, round by round, so that other load on the machine meets both; the ratios are those of the
medians. Without `--bootstrap-servers` the embedded broker is measured alone. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from eosfw.waiting import ThreadRuntime

VALUE = b"x" * 100
TIMEOUT = 60.0


@contextmanager
def embedded_process() -> Iterator[str]:
    """An embedded broker as a process of its own; gives its address."""
    command = [sys.executable, "-m", "eosfw_memory", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.terminate()


def up_times(times: int) -> list[float]:
    """Milliseconds from the call to the first accepted connection, in an interpreter that has imported everything."""
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


def transaction_ms(servers: str, times: int) -> float:
    """The median duration of a transaction of one record."""
    topic, made = new_topic(servers), producer(servers)
    found = []
    for _ in range(times):
        began = time.perf_counter()
        made.begin_transaction()
        made.produce(topic, VALUE, partition=0)
        made.commit_transaction(TIMEOUT)
        found.append((time.perf_counter() - began) * 1000)
    return statistics.median(found)


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
    reader = Consumer(settings | {"enable.partition.eof": True, "enable.auto.commit": False, "fetch.min.bytes": 1})
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
        "one_record_transaction_ms": lambda at: transaction_ms(at, 300),
        "consumed_per_second": lambda at: consumed_per_second(at, records),
    }


def compare(clusters: dict[str, str], rounds: int, records: int) -> dict[str, dict[str, float]]:
    """Medians over the rounds, with the ratio of embedded to Kafka; a first round warms up."""
    found: dict[str, dict[str, list[float]]] = {}
    for number in range(rounds + 1):
        for name, measure in measures(records if number else records // 10).items():
            for cluster, servers in clusters.items():
                value = measure(servers)
                if number:
                    found.setdefault(name, {}).setdefault(cluster, []).append(value)
    return {name: _summary(by_cluster) for name, by_cluster in found.items()}


def _summary(by_cluster: dict[str, list[float]]) -> dict[str, float]:
    medians = {cluster: round(statistics.median(values), 3) for cluster, values in by_cluster.items()}
    if "kafka" in medians:
        medians["ratio"] = round(medians["embedded"] / medians["kafka"], 3)
    return medians


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", help="a running real Kafka to compare with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--records", type=int, default=1_000_000, help="records of 100 bytes per measurement")
    arguments = parser.parse_args()
    up = up_times(20)
    with embedded_process() as servers:
        clusters = {"embedded": servers}
        if arguments.bootstrap_servers:
            clusters["kafka"] = arguments.bootstrap_servers
        result: dict[str, object] = {"up_ms": round(statistics.median(up), 3)}
        result |= compare(clusters, arguments.rounds, arguments.records)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
