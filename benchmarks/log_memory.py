"""Measure what the log keeps in memory for a million records of 108 bytes (goal 16).

Batches of 1000 records, key 8 bytes, value 100, all different, in transactions. Prints a JSON line, a line for people
on stderr.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
import tracemalloc
from pathlib import Path

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.log.partition_log import PartitionLog
from eosfw_memory.records.codec import encode_batch
from eosfw_memory.records.transaction_result import TransactionResult

RECORDS, PER_BATCH, PER_TRANSACTION = 1_000_000, 1000, 10_000
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


def main() -> int:
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
    row = {
        "goal": 16,
        "records": RECORDS,
        "offsets": offsets,
        "bytes_per_record": round(traced / (RECORDS // 10), 1),
        "resident_bytes_per_record": round(grown / RECORDS, 1),
        "resident_mb": round(grown / 1e6, 1),
        "gc_ms": round(collecting, 1),
        "gc_ms_when_empty": round(before_gc, 1),
        "log_bytes": part.size,
    }
    print(json.dumps(row))
    print(
        f"goal 16: {row['bytes_per_record']} bytes a record, at most {BYTES_GOAL:g}; 1,000,000 take "
        f"{row['resident_mb']} MB, at most {TOTAL_GOAL / 1e6:g}; "
        f"a full collection {row['gc_ms']} ms, at most {GC_GOAL:g}",
        file=sys.stderr,
    )
    return 0 if traced / (RECORDS // 10) <= BYTES_GOAL and grown <= TOTAL_GOAL and collecting <= GC_GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
