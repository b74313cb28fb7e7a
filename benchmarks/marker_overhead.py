"""Measure what transaction markers cost: bytes in the logs and time of a commit, over a grid.

A marker is a batch of one record in each partition a transaction touched. Grid: producers side by side, partitions
that each transaction touches, records per transaction; transactions follow each other as fast as the cluster lets them.
Bytes are counted in the logs as they are fetched, batch by batch; time is that of a transaction beside that of
delivering the same records without one. On the embedded broker, over its port, and with `--bootstrap-servers` on a real
Kafka, both through confluent-kafka. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import statistics
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from benchmark import run_main, scaled, show
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from embedded_broker import embedded_process

from eosfw.concurrency import ThreadRuntime
from eosfw.security import Address
from eosfw_memory.client.transport.apis import FETCH, Fields, milliseconds
from eosfw_memory.client.transport.sockets import SocketChannel
from eosfw_memory.storage.records.batch import split

VALUE = b"x" * 100
WAIT = 60.0
MOST = scaled(16, least=5)
GRID = {"producers": (1, 4, MOST), "partitions": (1, 4, MOST), "records": (1, 100, 1_000)}
USUAL = {"producers": 1, "partitions": 1, "records": 100}


@dataclass(frozen=True)
class Cell:
    """One point of the grid."""

    producers: int
    partitions: int
    records: int
    """In each transaction, over all its partitions."""

    def counts(self) -> list[int]:
        """Records for each partition; at least one, so that each is touched."""
        return [max(1, self.records // self.partitions)] * self.partitions


def cells() -> list[Cell]:
    """Each dimension by itself, the others as usual, then all at their largest."""
    alone = [Cell(**{**USUAL, name: value}) for name, values in GRID.items() for value in values]
    return [*dict.fromkeys(alone), Cell(*(values[-1] for values in GRID.values()))]


def new_topic(servers: str, partitions: int) -> str:
    name = f"markers-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(WAIT)
    return name


def producers(servers: str, number: int, *, transactional: bool) -> list[Producer]:
    made = []
    for _ in range(number):
        settings = {"bootstrap.servers": servers, "linger.ms": 5, "enable.idempotence": True, "log_level": 2}
        if transactional:
            settings["transactional.id"] = f"markers-{uuid.uuid4().hex[:8]}"
        made.append(Producer(settings))
        if transactional:
            made[-1].init_transactions(WAIT)
    return made


def send(producer: Producer, topic: str, cell: Cell) -> None:
    for partition, count in enumerate(cell.counts()):
        producer.produce_batch(topic, [{"value": VALUE}] * count, partition=partition)


@dataclass(frozen=True)
class Bytes:
    """What lies in the partitions of a topic."""

    of_records: int
    of_markers: int
    markers: int


def in_logs(servers: str, topic: str, partitions: int) -> Bytes:
    """Every batch of a topic, fetched as it lies there."""
    host, port = servers.rsplit(":", 1)
    channel = SocketChannel(Address(host, int(port)), "markers", WAIT, ThreadRuntime())
    found = []
    for number in range(partitions):
        offset = 0
        while records := channel.call(FETCH, _fetch(topic, number, offset), time.monotonic() + WAIT)["responses"][0][
            "partitions"
        ][0]["records"]:
            for header, batch in split(records):
                found.append((header.control, len(batch)))
                offset = header.last_offset + 1
    channel.close()
    markers = [size for control, size in found if control]
    return Bytes(sum(size for control, size in found if not control), sum(markers), len(markers))


def _fetch(topic: str, partition: int, offset: int) -> Fields:
    wanted = Fields(
        partition=partition,
        current_leader_epoch=-1,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=1 << 20,
    )
    return Fields(
        replica_id=-1,
        max_wait=milliseconds(0),
        min_bytes=0,
        max_bytes=1 << 24,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[Fields(topic=topic, partitions=[wanted])],
        forgotten_topics_data=[],
        rack_id="",
    )


def timed(servers: str, topic: str, cell: Cell, times: int, *, transactional: bool) -> float:
    """Milliseconds until what one producer sent is committed, or delivered."""
    made = producers(servers, cell.producers, transactional=transactional)
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        for producer in made:
            if transactional:
                producer.begin_transaction()
            send(producer, topic, cell)
        for producer in made:
            if transactional:
                producer.commit_transaction(WAIT)
            else:
                producer.flush(WAIT)
        spent.append((time.perf_counter() - began) * 1000 / cell.producers)
    return statistics.median(spent)


def measure(servers: str, cell: Cell, times: int, rounds: int) -> dict[str, float]:
    """Both ways in turn."""
    marked, plain = new_topic(servers, cell.partitions), new_topic(servers, cell.partitions)
    pairs = [
        (
            timed(servers, marked, cell, times, transactional=True),
            timed(servers, plain, cell, times, transactional=False),
        )
        for _ in range(rounds)
    ]
    took, without = (statistics.median(column) for column in zip(*pairs, strict=True))
    there = in_logs(servers, marked, cell.partitions)
    transactions = rounds * times * cell.producers
    size = there.of_markers / transactions
    return {
        **vars(cell),
        "markers_per_transaction": round(there.markers / transactions, 2),
        "marker_bytes_per_transaction": round(size, 1),
        "marker_share_of_bytes": round(there.of_markers / (there.of_markers + there.of_records), 4),
        "transaction_ms": round(took, 3),
        "without_ms": round(without, 3),
        "transactions_per_second": round(1000 / took),
        "marker_bytes_per_second": round(size * 1000 / took),
    }


def grid(servers: str, times: int, rounds: int, each: Callable[[dict[str, float]], None]) -> None:
    for cell in cells():
        each(measure(servers, cell, times, rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", help="a running real Kafka")
    parser.add_argument("--times", type=int, default=scaled(30), help="transactions in a measurement")
    parser.add_argument("--rounds", type=int, default=scaled(3))
    asked = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {}
    with embedded_process() as servers:
        clusters = {"embedded": servers} | ({"kafka": asked.bootstrap_servers} if asked.bootstrap_servers else {})
        for name, at in clusters.items():
            grid(at, asked.times, asked.rounds, found.setdefault(name, []).append)
    show(found)


if __name__ == "__main__":
    run_main(main)
