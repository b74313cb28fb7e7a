"""Measure how fast embedded clusters come and go, in process or with a port, and what a thousand leave behind (goal 8).

`used` also connects a client that commits one record. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import os
import statistics
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmark import run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster

GOALS = {"up_and_down_ms": 2, "thousand_s": 2}
RUNTIME = ThreadRuntime()
WITH_A_PORT: Mapping[str, str] = {}
IN_PROCESS: Mapping[str, str] = {"listeners": ""}
WAIT = 60.0


def open_files() -> int:
    return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else -1


def up_and_down(properties: Mapping[str, str]) -> None:
    EmbeddedCluster.start(properties, RUNTIME).close()


def used(properties: Mapping[str, str]) -> None:
    cluster = EmbeddedCluster.start(properties, RUNTIME)
    backend = MemoryBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, RUNTIME)
    backend.admin().create_topics([NewTopic("t")])
    producer = backend.producer("t")
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    producer.send(ProducerRecord("t", b"v"))
    producer.commit_transaction(WAIT)
    backend.close()
    cluster.close()


def durations(use: Callable[[Mapping[str, str]], None], properties: Mapping[str, str], times: int) -> dict[str, float]:
    use(properties)
    found = []
    began, began_cpu = time.perf_counter(), time.process_time()
    for _ in range(times):
        at = time.perf_counter()
        use(properties)
        found.append((time.perf_counter() - at) * 1000)
    spent, spent_cpu = time.perf_counter() - began, time.process_time() - began_cpu
    return {
        "median_ms": round(statistics.median(found), 3),
        "best_ms": round(min(found), 3),
        "thousand_s": round(spent * 1000 / times, 3),
        "thousand_cpu_s": round(spent_cpu * 1000 / times, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=scaled(1000))
    times = parser.parse_args().times
    up_and_down(WITH_A_PORT)
    before = threading.active_count(), open_files()
    result: dict[str, object] = {
        "in_process": durations(up_and_down, IN_PROCESS, times),
        "with_a_port": durations(up_and_down, WITH_A_PORT, times),
        "in_process_used": durations(used, IN_PROCESS, times),
    }
    result["left_behind"] = {"threads": threading.active_count() - before[0], "files": open_files() - before[1]}
    result["goals"] = GOALS
    show(result)


if __name__ == "__main__":
    run_main(main)
