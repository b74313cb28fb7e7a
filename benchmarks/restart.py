"""Measure a start after a clean stop behind many transactions, with the coordinators' snapshot and without it.

Each transaction writes one record and one group offset. Prints one JSON object; `ids` transactional ids take turns.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmark import run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, NewTopic
from eosfw.records import ProducerRecord
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.storage.files.coordinator_snapshot_file import NAME

RUNTIME = ThreadRuntime()
WAIT = 60.0


def filled(properties: dict[str, str], transactions: int, ids: int) -> None:
    cluster = EmbeddedCluster.start(properties, RUNTIME)
    backend = MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, RUNTIME)
    backend.admin().create_topics([NewTopic("t")])
    producers = [backend.producer(f"id-{number}") for number in range(ids)]
    for each in producers:
        each.init_transactions(WAIT)
    for number in range(transactions):
        producer = producers[number % ids]
        producer.begin_transaction()
        producer.send(ProducerRecord("t", b"v"))
        producer.send_offsets({TopicPartition("t", 0): number}, ConsumerGroupMetadata(f"group-{number % ids}"), WAIT)
        producer.commit_transaction(WAIT)
    backend.close()
    cluster.close()


def started(properties: dict[str, str]) -> float:
    began = time.perf_counter()
    cluster = EmbeddedCluster.start(properties, RUNTIME)
    took = time.perf_counter() - began
    cluster.close()
    return round(took, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, default=scaled(44_000))
    parser.add_argument("--ids", type=int, default=scaled(100))
    parser.add_argument("--rounds", type=int, default=scaled(3))
    parser.add_argument("--where", type=Path, default=None, help="where to make the data directory")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.where) as root:
        properties = {"listeners": "", "log.dirs": f"{root}/data"}
        filled(properties, arguments.transactions, arguments.ids)
        with_snapshot, without = [], []
        for _ in range(arguments.rounds):
            with_snapshot.append(started(properties))
            (Path(root) / "data" / NAME).unlink(missing_ok=True)
            without.append(started(properties))
    show({"transactions": arguments.transactions, "with_snapshot_s": with_snapshot, "without_s": without})


if __name__ == "__main__":
    run_main(main)
