"""Measure the embedded broker's files: commits that are on the disk (goal 18), the recovery of a gigabyte.

Commits: a batch of records is appended, then the disk is waited for; beside it the bare system calls on as many bytes
and, if it is installed, lmdb, which syncs each of its transactions. All take turns on one file system; the ratios are
medians of the rounds' ratios. Transactions: of one record in one partition each, by our own client over a socket, each
step on the disk before it is answered; the end is also timed by itself. Recovery: a directory of `--bytes`, once after
a kill, once after the machine went down, once after a stop. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmark import run_main, scaled, show

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch
from eosfw.records import ProducerRecord
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.records.codec import encode_batch
from eosfw_memory.storage.records.transaction_result import TransactionResult
from eosfw_memory.storage.topics.topic import Topics

VALUE, KEY = b"x" * 100, b"%08d"
PRODUCER = ProducerIdAndEpoch(7, 0)
NOW = 1_700_000_000_000
WAIT = 60.0
BARE_GOAL, LMDB_GOAL, RECOVERY_GOAL = 0.6, 1.0, 20.0


def ours(root: Path, per_commit: int, commits: int) -> float:
    """Seconds for so many commits: encode, append, wait for the disk."""
    storage = DataDirectory.open(root, waits=True, node_id=1)
    log = Topics(storage).create("t", 1, {}).partitions[0].log
    keys, values = [KEY % n for n in range(per_commit)], [VALUE] * per_commit
    began = time.perf_counter()
    for number in range(commits):
        sequence = number * per_commit
        log.append(encode_batch(keys, values, NOW, producer=PRODUCER, base_sequence=sequence), NOW)
        storage.disk.sync(storage.disk.take_unsynced())
    took = time.perf_counter() - began
    storage.close({log.where: log})
    return took


def bare(root: Path, per_commit: int, commits: int) -> float:
    """The same bytes by write and fdatasync alone."""
    root.mkdir()
    batch = encode_batch([KEY % n for n in range(per_commit)], [VALUE] * per_commit, NOW)
    file = os.open(root / "file", os.O_WRONLY | os.O_CREAT)
    began = time.perf_counter()
    for _ in range(commits):
        os.write(file, batch)
        os.fdatasync(file)
    took = time.perf_counter() - began
    os.close(file)
    return took


def in_lmdb(root: Path, per_commit: int, commits: int) -> float:
    """The same records, each under its offset, in lmdb's transactions."""
    import lmdb

    root.mkdir()
    with lmdb.open(str(root), map_size=1 << 30) as environment:
        began = time.perf_counter()
        for number in range(commits):
            with environment.begin(write=True) as transaction:
                for at in range(per_commit):
                    transaction.put((number * per_commit + at).to_bytes(8), VALUE, append=True)
        return time.perf_counter() - began


def commits(rounds: int, root: Path) -> dict[str, dict[str, float]]:
    """Commits in each second by everybody, with ratios."""
    ways: dict[str, Callable[[Path, int, int], float]] = {"ours": ours, "bare": bare}
    try:
        import lmdb  # noqa: F401 (may be missing)
    except ImportError:
        print("lmdb is not installed: left out", file=sys.stderr)
    else:
        ways["lmdb"] = in_lmdb
    found = {}
    for per_commit, usual in ((1, 2000), (100, 1000), (1000, 300)):
        number = scaled(usual, least=10)
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(rounds + 1):
            for name, way in ways.items():
                took = way(root / f"{name}-{per_commit}-{turn}", per_commit, number if turn else number // 10)
                if turn:
                    seconds[name].append(took)
        row = {f"{name}_per_second": round(number / statistics.median(each)) for name, each in seconds.items()}
        ratios = {
            f"ours_to_{name}": round(statistics.median(b / a for a, b in zip(seconds["ours"], each, strict=True)), 2)
            for name, each in seconds.items()
            if name != "ours"
        }
        found[f"{per_commit} a commit"] = {**row, **ratios}
    return found


def transactions(root: Path, producers: int, each: int) -> dict[str, float]:
    """Transactions in each second, with how long an EndTxn takes at the median, in microseconds."""
    runtime = ThreadRuntime()
    properties = {"log.dirs": str(root), "log.flush.interval.messages": "1"}
    cluster = EmbeddedCluster.start(properties, runtime)
    cluster.broker.topics.create("t", producers, {})
    took: list[float] = []

    def run(number: int) -> None:
        given = {"bootstrap.servers": cluster.bootstrap_servers, "eosfw.transport": "socket"}
        producer = MemoryBackend.connect(given, runtime).producer(f"worker-{number}")
        producer.init_transactions(WAIT)
        for _ in range(each):
            producer.begin_transaction()
            producer.send(ProducerRecord("t", VALUE, partition=number))
            producer.flush(WAIT)
            asked = time.perf_counter()
            producer.commit_transaction(WAIT)
            took.append(time.perf_counter() - asked)
        producer.close(WAIT)

    threads = [runtime.spawn(f"producer-{number}", partial(run, number)) for number in range(producers)]
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    cluster.close()
    return {
        "per_second": round(producers * each / seconds),
        "end_microseconds": round(1e6 * statistics.median(took)),
    }


def ends(rounds: int, root: Path) -> dict[str, dict[str, float]]:
    """The same for one producer and for eight, medians of the rounds."""
    found = {}
    for producers, each in ((1, scaled(300)), (8, scaled(100))):
        turns = [transactions(root / f"ends-{producers}-{turn}", producers, each) for turn in range(rounds)]
        found[f"{producers} producers"] = {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}
    return found


def fill(root: Path, size: int, per_batch: int, segment: int) -> int:
    """Write a directory of so many bytes in transactions of ten batches, and end as a kill does; give its batches."""
    storage = DataDirectory.open(root, waits=False, node_id=1)
    log = Topics(storage).create("t", 1, {"segment.bytes": str(segment)}).partitions[0].log
    keys, values = [KEY % n for n in range(per_batch)], [VALUE] * per_batch
    sequence = batches = 0
    while log.size < size:
        for _ in range(10):
            batch = encode_batch(keys, values, NOW, producer=PRODUCER, base_sequence=sequence, transactional=True)
            log.append(batch, NOW)
            sequence = (sequence + per_batch) % 2**31
        log.append_marker(PRODUCER, TransactionResult.ABORT if batches % 30 == 0 else TransactionResult.COMMIT, 0, NOW)
        batches += 11
    storage.release()
    return batches


def started(root: Path) -> tuple[dict[str, float], int]:
    """Seconds until a broker's logs are ready, by the clock and of a processor; with the end of the log."""
    began, cpu_began = time.perf_counter(), time.process_time()
    storage = DataDirectory.open(root, waits=False, node_id=1)
    topics = Topics(storage)
    took = {"seconds": time.perf_counter() - began, "processor_seconds": time.process_time() - cpu_began}
    end = topics.partition("t", 0).log.high_watermark
    storage.close(topics.logs())
    return {name: round(value, 3) for name, value in took.items()}, end


def recovery(root: Path, size: int) -> dict[str, dict[str, Any]]:
    """How long a start takes."""
    found = {}
    for name, per_batch, segment in (
        ("batches of 1000, one segment", 1000, 1 << 30),
        ("batches of 1000, segments of 100 MB", 1000, 100 << 20),
        ("batches of 1, one segment", 1, 1 << 30),
    ):
        directory = root / f"recovery-{per_batch}-{segment}"
        batches = fill(directory, size, per_batch, segment)
        row: dict[str, Any] = {"batches": batches, "megabytes": round(size / 1e6)}
        row["after a kill"], end = started(directory)
        row["after a stop"], again = started(directory)
        (directory / ".running").write_bytes(b"another run of the machine")
        row["after a power cut"], once_more = started(directory)
        assert end == again == once_more
        found[name] = row
        shutil.rmtree(directory)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=scaled(5))
    parser.add_argument("--bytes", type=int, default=scaled(1_000_000_000))
    parser.add_argument("--directory", type=Path, default=None, help="where to measure; not in memory")
    parser.add_argument("--only-transactions", action="store_true", help="leave out all that needs no broker")
    arguments = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="eosfw-bench-", dir=arguments.directory))
    try:
        result: dict[str, Any] = {"transactions": ends(arguments.rounds, root)}
        if arguments.only_transactions:
            show(result)
            return
        result |= {"commits": commits(arguments.rounds, root), "recovery": recovery(root, arguments.bytes)}
    finally:
        shutil.rmtree(root)
    goals = {"ours_to_bare": BARE_GOAL, "ours_to_lmdb": LMDB_GOAL, "slowest_start_processor_seconds": RECOVERY_GOAL}
    show({**result, "goals": goals})


if __name__ == "__main__":
    run_main(main)
