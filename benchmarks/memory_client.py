"""Measure the memory client inside the broker's process, beside confluent-kafka on the same broker (goals 5, 6, 7, 17).

Both clients take turns, round by round; the ratios are those of the medians. The broker runs in this process: the
memory client calls it directly and, as `socket`, over its port, confluent over its port. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from benchmark import SCALE, ContenderError, run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.fence_producers_result import FenceProducersOptions
from eosfw.ids import TopicPartition
from eosfw.protocols import Backend, IsolationLevel, NewTopic, TransactionalProducer
from eosfw.records import OffsetRange, ProducerBatch, ProducerRecord
from eosfw_confluent.backend import ConfluentBackend
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster

WAIT = 60.0
VALUE = b"x" * 100
RUNTIME = ThreadRuntime()
GOALS = {"records_per_second": 1_500_000, "one_record_us": 142, "fence_us": 40, "visible_us": 100}


@dataclass(frozen=True)
class Way:
    """One client."""

    backend: Backend

    def topic(self) -> str:
        name = f"bench-{uuid.uuid4().hex[:8]}"
        self.backend.admin().create_topics([NewTopic(name)])
        return name

    def producer(self) -> TransactionalProducer:
        made = self.backend.producer(f"bench-{uuid.uuid4().hex[:8]}")
        made.init_transactions(WAIT)
        return made


def ways(servers: str) -> dict[str, Way]:
    given = {"bootstrap.servers": servers}
    direct = MemoryBackend.connect({**given, "eosfw.transport": "direct"}, RUNTIME)
    socket = MemoryBackend.connect({**given, "eosfw.transport": "socket"}, RUNTIME)
    confluent = ConfluentBackend.connect(given, RUNTIME)
    return {
        "direct": Way(direct),
        "socket": Way(socket),
        "confluent": Way(confluent),
    }


def records_per_second(way: Way, records: int) -> float:
    """How fast records of 100 bytes are committed, 1000 in each transaction (goal 5)."""
    topic, made = way.topic(), way.producer()
    batch = ProducerBatch(topic, [VALUE] * 1000, partition=0)
    began = time.perf_counter()
    for _ in range(records // 1000):
        made.begin_transaction()
        made.send_batch(batch)
        made.commit_transaction(WAIT)
    return records / (time.perf_counter() - began)


def read_per_second(way: Way, records: int) -> float:
    """How fast committed records are read back as columns."""
    topic, made = way.topic(), way.producer()
    for _ in range(records // 1000):
        made.begin_transaction()
        made.send_batch(ProducerBatch(topic, [VALUE] * 1000, partition=0))
        made.commit_transaction(WAIT)
    one = TopicPartition(topic, 0)
    end = way.backend.admin().end_offsets([one], IsolationLevel.READ_COMMITTED)[one]
    began = time.perf_counter()
    reader = way.backend.reader(IsolationLevel.READ_COMMITTED)
    seen = sum(len(batch) for batch in reader.read({one: OffsetRange(0, end)}, WAIT))
    return seen / (time.perf_counter() - began)


def one_record_us(way: Way, times: int) -> float:
    """The median duration of a transaction of one record (goal 6)."""
    topic, made = way.topic(), way.producer()
    record = ProducerRecord(topic, VALUE, partition=0)
    found = []
    for _ in range(times):
        began = time.perf_counter()
        made.begin_transaction()
        made.send(record)
        made.commit_transaction(WAIT)
        found.append((time.perf_counter() - began) * 1e6)
    return statistics.median(found)


def fence_us(way: Way, victims: int) -> float:
    """The time to fence holders with open transactions, for each (goal 7); they are opened by direct calls."""
    topic = way.topic()
    names = [f"bench-{uuid.uuid4().hex[:10]}" for _ in range(victims)]
    opener = MemoryBackend.connect({"bootstrap.servers": SERVERS[0]}, RUNTIME)
    for name in names:
        made = opener.producer(name)
        made.init_transactions(WAIT)
        made.begin_transaction()
        made.send(ProducerRecord(topic, VALUE, partition=0))
        made.flush(WAIT)
    admin = way.backend.admin()
    began = time.perf_counter()
    admin.fence_producers(names, FenceProducersOptions(WAIT)).all().result(WAIT)
    spent = time.perf_counter() - began
    opener.close()
    return spent * 1e6 / victims


def visible_us(way: Way, times: int) -> float:
    """The median time from the commit call to its record at a reader on another thread (goal 17)."""
    topic, made = way.topic(), way.producer()
    one, seen, ready = TopicPartition(topic, 0), [], threading.Semaphore(0)

    def follow() -> None:
        reader = way.backend.reader(IsolationLevel.READ_COMMITTED)
        for number in range(times):
            ready.release()
            list(reader.read({one: OffsetRange(2 * number, 2 * number + 1)}, WAIT))
            seen.append(time.perf_counter())

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    asked = []
    for _ in range(times):
        if not ready.acquire(timeout=WAIT):
            raise ContenderError(f"a reader of {way.backend.name} saw no record within {WAIT:g} s")
        time.sleep(0.002)
        made.begin_transaction()
        made.send(ProducerRecord(topic, VALUE, partition=0))
        made.flush(WAIT)
        asked.append(time.perf_counter())
        made.commit_transaction(WAIT)
    thread.join()
    return statistics.median((after - before) * 1e6 for before, after in zip(asked, seen, strict=True))


SERVERS: list[str] = []


def measures(scale: float) -> dict[str, Callable[[Way], float]]:
    return {
        "records_per_second": lambda way: records_per_second(way, max(1, int(500 * scale)) * 1000),
        "read_per_second": lambda way: read_per_second(way, max(1, int(300 * scale)) * 1000),
        "one_record_us": lambda way: one_record_us(way, int(1000 * scale) + 1),
        "fence_us": lambda way: fence_us(way, scaled(50)),
        "visible_us": lambda way: visible_us(way, int(200 * scale) + 1),
    }


def compare(rounds: int, scale: float) -> dict[str, dict[str, float]]:
    """Medians over the rounds; a first, small round warms up."""
    found: dict[str, dict[str, list[float]]] = {}
    for number in range(rounds + 1):
        cluster = EmbeddedCluster.start({}, RUNTIME)  # a fresh one, so that memory does not grow with the rounds
        SERVERS[:] = [cluster.bootstrap_servers]
        every = ways(cluster.bootstrap_servers)
        for name, measure in measures(scale if number else 0.02 * scale).items():
            for way, each in every.items():
                value = measure(each)
                if number:
                    found.setdefault(name, {}).setdefault(way, []).append(value)
        for each in every.values():
            each.backend.close()
        cluster.close()
    return {name: _summary(name, by_way) for name, by_way in found.items()}


def _summary(name: str, by_way: dict[str, list[float]]) -> dict[str, float]:
    medians = {way: round(statistics.median(values), 1) for way, values in by_way.items()}
    medians["direct_best"] = round((max if name.endswith("second") else min)(by_way["direct"]), 1)
    medians["ratio_to_confluent"] = round(medians["direct"] / medians["confluent"], 4)
    if name in GOALS:
        medians["goal"] = GOALS[name]
    return medians


def direct_cpu(rounds: int) -> dict[str, dict[str, float]]:
    """What direct calls take of a processor, whoever else uses the machine: everything happens on one thread."""
    rates, durations = [], []
    for _ in range(rounds):
        cluster = EmbeddedCluster.start({}, RUNTIME)
        way = ways(cluster.bootstrap_servers)["direct"]
        rates.append(1000 / _cpu_of_transactions(way, 1000, scaled(200)))
        durations.append(_cpu_of_transactions(way, 1, scaled(1000)) * 1e6)
        way.backend.close()
        cluster.close()
    return {
        "records_per_second": {"median": round(statistics.median(rates)), "best": round(max(rates))},
        "one_record_us": {"median": round(statistics.median(durations), 1), "best": round(min(durations), 1)},
    }


def _cpu_of_transactions(way: Way, records: int, times: int) -> float:
    """Processor seconds of one transaction."""
    topic, made = way.topic(), way.producer()
    batch, record = ProducerBatch(topic, [VALUE] * records, partition=0), ProducerRecord(topic, VALUE, partition=0)
    began = time.thread_time()
    for _ in range(times):
        made.begin_transaction()
        if records == 1:
            made.send(record)
        else:
            made.send_batch(batch)
        made.commit_transaction(WAIT)
    return (time.thread_time() - began) / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=scaled(5))
    parser.add_argument("--scale", type=float, default=SCALE, help="size of each measurement")
    arguments = parser.parse_args()
    result: dict[str, object] = {**compare(arguments.rounds, arguments.scale)}
    result["direct_per_processor_second"] = direct_cpu(arguments.rounds)
    show(result)


if __name__ == "__main__":
    run_main(main)
