"""Measure the record codec beside kafka-python's, in CPU time, turn by turn (goal 20).

1000 records, key 8 bytes, value 100. kafka-python hands out an object per record, so reading means taking offset,
timestamp, key, value and headers from each; `bare` only iterates. Prints one JSON object.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmark import run_main, scaled, show
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from eosfw_memory.storage.records.codec import decode_records, encode_batch

RECORDS, ROUNDS, REPEATS = 1000, scaled(9), scaled(4)
GOAL = 3.0
START = 1_700_000_000_000

VALUES = [os.urandom(100) for _ in range(RECORDS)]
KEYS = [b"%08d" % n for n in range(RECORDS)]


@dataclass(frozen=True)
class Shape:
    """One kind of batch."""

    name: str
    keys: Sequence[bytes] | None
    timestamps: Sequence[int]

    def ours(self) -> bytes:
        one = self.timestamps[0] if len(set(self.timestamps)) == 1 else self.timestamps
        return encode_batch(self.keys, VALUES, one)

    def theirs(self) -> bytes:
        builder = DefaultRecordBatchBuilder(
            magic=2,
            compression_type=0,
            is_transactional=False,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            batch_size=1 << 30,
        )
        keys = self.keys or [None] * RECORDS
        for offset in range(RECORDS):
            builder.append(offset, self.timestamps[offset], keys[offset], VALUES[offset], [])
        return bytes(builder.build())


def read_theirs(batch: bytes) -> None:
    [(each.offset, each.timestamp, each.key, each.value, each.headers) for each in DefaultRecordBatch(batch)]


def iterate_theirs(batch: bytes) -> None:
    for _ in DefaultRecordBatch(batch):
        pass


def rate(work: Callable[[], object]) -> float:
    """Million records for each second of CPU time."""
    began = time.process_time()
    for _ in range(REPEATS):
        work()
    return REPEATS * RECORDS / (time.process_time() - began) / 1e6


def compare(shape: Shape) -> dict[str, float]:
    batch = shape.ours()
    assert batch[16:] == shape.theirs()[16:]
    jobs: list[Callable[[], object]] = [
        shape.ours,
        shape.theirs,
        lambda: decode_records(batch),
        lambda: read_theirs(batch),
        lambda: iterate_theirs(batch),
    ]
    rounds = [[rate(job) for job in jobs] for _ in range(ROUNDS + 1)][1:]
    best = [round(max(column), 2) for column in zip(*rounds, strict=True)]
    encode = statistics.median(each[0] / each[1] for each in rounds)
    decode = statistics.median(each[2] / each[3] for each in rounds)
    bare = statistics.median(each[2] / each[4] for each in rounds)
    return {
        "encode_m_per_s": best[0],
        "kafka_python_encode": best[1],
        "encode_ratio": round(encode, 2),
        "decode_m_per_s": best[2],
        "kafka_python_decode": best[3],
        "decode_ratio": round(decode, 2),
        "decode_ratio_to_bare": round(bare, 2),
    }


def main() -> None:
    shapes = (
        Shape("keys, one timestamp", KEYS, [START] * RECORDS),
        Shape("keys, rising timestamps", KEYS, range(START, START + RECORDS)),
        Shape("no keys, one timestamp", None, [START] * RECORDS),
    )
    show({**{shape.name: compare(shape) for shape in shapes}, "goal": GOAL})


if __name__ == "__main__":
    run_main(main)
