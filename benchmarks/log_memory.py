"""Measure what the log keeps in memory for a million records of 108 bytes (goal 16).

Batches of 1000 records, key 8 bytes, value 100, all different, in transactions. Prints one JSON object.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
import tracemalloc
from pathlib import Path

from benchmark import run_main, scaled, show

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.records.codec import encode_batch
from eosfw_memory.storage.records.transaction_result import TransactionResult

PER_BATCH, PER_TRANSACTION = 1000, 10_000
RECORDS = scaled(1_000_000, least=10 * PER_TRANSACTION)
BYTES_GOAL, TOTAL_GOAL, GC_GOAL = 150.0, 150e6, 20.0
PRODUCER = ProducerIdAndEpoch(7, 0)


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def fill(records: int) -> PartitionLog:
    log = PartitionLog(TopicPartition("memory", 0))
    keys = [b"%08d" % n for n in range(PER_BATCH)]
    for first in range(0, records, PER_BATCH):
        salt = os.urandom(92)
        values = [salt + key for key in keys]
        batch = encode_batch(keys, values, first, producer=PRODUCER, base_sequence=first, transactional=True)
        log.append(batch, first)
        if (first + PER_BATCH) % PER_TRANSACTION == 0:
            log.append_marker(PRODUCER, TransactionResult.COMMIT, 0, first)
    return log


def gc_ms() -> float:
    """CPU milliseconds of one full collection; on a shared machine the clock would measure the others."""
    began = time.process_time()
    gc.collect()
    return (time.process_time() - began) * 1000


def main() -> None:
    fill(PER_BATCH)  # imports, tables, arenas
    before_gc = statistics.median(gc_ms() for _ in range(5))
    before = resident()
    log = fill(RECORDS)
    grown = resident() - before
    collecting = statistics.median(gc_ms() for _ in range(5))
    offsets = log.high_watermark
    del log
    tracemalloc.start()
    part = fill(RECORDS // 10)
    traced = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    found = {
        "records": RECORDS,
        "offsets": offsets,
        "bytes_per_record": round(traced / (RECORDS // 10), 1),
        "resident_bytes_per_record": round(grown / RECORDS, 1),
        "resident_mb": round(grown / 1e6, 1),
        "gc_ms": round(collecting, 1),
        "gc_ms_when_empty": round(before_gc, 1),
        "log_bytes": part.size,
    }
    goals = {"bytes_per_record": BYTES_GOAL, "resident_mb_of_a_million": TOTAL_GOAL / 1e6, "gc_ms": GC_GOAL}
    show({**found, "goals": goals})


if __name__ == "__main__":
    run_main(main)
