"""Measure fencing producers with open transactions (goal 7): by direct calls, and fifty on a real Kafka.

`--bootstrap-servers` names the Kafka. Direct calls are also counted in processor time, that of the whole
process. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import statistics
import time
import uuid
from dataclasses import dataclass

from benchmark import run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.fence_producers_result import FenceProducersOptions
from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster

FEW, MANY = scaled(100), scaled(10_000, least=2)
GOALS = {"each_us": 40, "ten_thousand_over_hundred": 120, "kafka_fifty_s": 0.5}
RUNTIME = ThreadRuntime()
WAIT = 60.0


@dataclass(frozen=True)
class Spent:
    """Seconds on the clock, seconds of the processor."""

    wall: float
    cpu: float


def fence(servers: str, victims: int) -> Spent:
    """Fence so many producers, each with an open transaction."""
    backend = MemoryBackend.connect({"bootstrap.servers": servers}, RUNTIME)
    topic = f"fence-{uuid.uuid4().hex[:8]}"
    backend.admin().create_topics([NewTopic(topic)])
    names = [f"fence-{uuid.uuid4().hex[:10]}" for _ in range(victims)]
    for name in names:
        holder = backend.producer(name)
        holder.init_transactions(WAIT)
        holder.begin_transaction()
        holder.send(ProducerRecord(topic, b"v", partition=0))
        holder.flush(WAIT)
    admin = backend.admin()
    began, began_cpu = time.perf_counter(), time.process_time()
    admin.fence_producers(names, FenceProducersOptions(WAIT)).all().result(WAIT)
    spent = Spent(time.perf_counter() - began, time.process_time() - began_cpu)
    admin.close()
    backend.close()
    return spent


def direct(rounds: int) -> dict[str, object]:
    """Fence a hundred and ten thousand ids by direct calls, on a new cluster each time."""
    found: dict[int, list[Spent]] = {FEW: [], MANY: []}
    for number in range(rounds + 1):
        for victims, spent in found.items():
            cluster = EmbeddedCluster.start({}, RUNTIME)
            fence(cluster.bootstrap_servers, 20)
            taken = fence(cluster.bootstrap_servers, victims if number else FEW)
            cluster.close()
            if number:
                spent.append(taken)
    few, many = found[FEW], found[MANY]
    cpu = [each.cpu * 1e6 / FEW for each in few]
    growth = statistics.median(each.cpu for each in many) / statistics.median(each.cpu for each in few)
    return {
        "each_us": round(statistics.median(each.wall * 1e6 / FEW for each in few), 1),
        "each_cpu_us": round(statistics.median(cpu), 1),
        "each_cpu_us_best": round(min(cpu), 1),
        "ten_thousand_over_hundred_cpu": round(growth, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", help="a running real Kafka")
    parser.add_argument("--rounds", type=int, default=scaled(5))
    asked = parser.parse_args()
    result = direct(asked.rounds)
    if asked.bootstrap_servers:
        fence(asked.bootstrap_servers, 5)
        took = [fence(asked.bootstrap_servers, 50).wall for _ in range(asked.rounds)]
        result |= {"kafka_fifty_s": round(statistics.median(took), 3), "kafka_fifty_s_best": round(min(took), 3)}
    show(result | {"goals": GOALS})


if __name__ == "__main__":
    run_main(main)
