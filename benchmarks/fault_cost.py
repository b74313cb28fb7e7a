"""Measure what the broker's faults cost those who ask for none: one-record transactions by direct calls.

`without` is a broker that knows no interceptor of requests, `idle` the broker as it is, `enabled` one with a fault that
is about another client. They take turns; prints one JSON object of medians in microseconds.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from benchmark import run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.broker.broker import Broker

ROUNDS, TIMES, WAIT = scaled(20), scaled(200), 10.0
RECORD = ProducerRecord("t", b"x" * 100, partition=0)
IDLE = Broker.serve


def without(self: Broker, handler: Any, request: Any, context: Any) -> Any:
    with self.lock:
        answer = handler(self, request, context)
        return answer if self._group_fsync is None else None


def transaction_us(producer: Any) -> float:
    found = []
    for _ in range(TIMES):
        began = time.perf_counter()
        producer.begin_transaction()
        producer.send(RECORD)
        producer.commit_transaction(WAIT)
        found.append((time.perf_counter() - began) * 1e6)
    return statistics.median(found)


def main() -> None:
    runtime = ThreadRuntime()
    cluster = EmbeddedCluster.start({}, runtime)
    backend = MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
    backend.admin().create_topics([NewTopic("t")])
    producer = backend.producer("measured")
    producer.init_transactions(WAIT)
    transaction_us(producer)
    found: dict[str, list[float]] = {"without": [], "idle": [], "enabled": []}
    for _ in range(ROUNDS):
        Broker.serve = without  # type: ignore[method-assign]
        found["without"].append(transaction_us(producer))
        Broker.serve = IDLE  # type: ignore[method-assign]
        found["idle"].append(transaction_us(producer))
        fault = cluster.faults.add("lose", request="EndTxn", transactional_id="somebody-else")
        found["enabled"].append(transaction_us(producer))
        cluster.faults.remove(fault)
    medians = {name: round(statistics.median(each), 1) for name, each in found.items()}
    show({**medians, "idle/without": round(medians["idle"] / medians["without"], 3)})
    backend.close()
    cluster.close()


if __name__ == "__main__":
    run_main(main)
