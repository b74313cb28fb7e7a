"""Measure what reading many equal records at once saves: on the way in, and in a client that shows them.

`ingest`: librdkafka writes transactions over a socket, in turns to a broker that compares records of one size by
columns and to one that steps over them one by one. `decode`: records with headers as identity puts them there, in turns
with and without the reader of records that differ in values and last headers alone. Prints one JSON object.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmark import run_main, scaled, show
from confluent_kafka import Producer

from eosfw_memory.storage.records import codec
from eosfw_memory.storage.records.batch import read_header

ROUNDS, RECORDS, DECODED = scaled(20), scaled(10_000, 10), scaled(1_000, 10)
WAIT, NOW = 60.0, 1_700_000_000_000
SERVE = "import sys; from eosfw_memory.__main__ import main; sys.argv = ['-', '--listen', '127.0.0.1:0']; main()"
PLAIN = (
    "from eosfw_memory.storage.records.record_validation import RecordWalk;"
    "RecordWalk._step_over_columns = lambda self, at, records: self._step_over_each(at, 0, records);"
)
READ_UNIFORM = codec.read_uniform_records


class Broker:
    """A broker in a process of its own, with a transactional producer."""

    def __init__(self, patch: str) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", patch + SERVE], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        address = self.process.stdout.readline().split()[-1]
        self.producer = Producer(
            {"bootstrap.servers": address, "transactional.id": "walk", "linger.ms": 5, "log_level": 0}
        )
        self.producer.init_transactions(WAIT)

    def rate(self, values: Sequence[bytes]) -> float:
        """Records per second of one transaction."""
        began = time.perf_counter()
        self.producer.begin_transaction()
        for value in values:
            self.producer.produce("t", value)
        self.producer.commit_transaction(WAIT)
        return len(values) / (time.perf_counter() - began)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(WAIT)


def ingest(values: Sequence[bytes]) -> dict[str, float]:
    """Medians of records per second, with the median of the ratios of neighbours."""
    by_columns, one_by_one = Broker(""), Broker(PLAIN)
    try:
        for broker in (by_columns, one_by_one):
            broker.rate(values)
        pairs = [(by_columns.rate(values), one_by_one.rate(values)) for _ in range(ROUNDS)]
    finally:
        by_columns.close()
        one_by_one.close()
    return compared(pairs, "by columns", "one by one")


def decode() -> dict[str, float]:
    """Nanoseconds a record, medians of what takes turns."""
    common = (("eosfw.connector", b"counter"), ("eosfw.partition", b'{"stream":1}'))
    headers = [(*common, ("eosfw.offset", b"%d" % number)) for number in range(DECODED)]
    batch = codec.encode_batch(None, [b"x" * 100] * DECODED, NOW, headers=headers)
    pairs = [(decoding_ns(batch, READ_UNIFORM), decoding_ns(batch, lambda *_: None)) for _ in range(ROUNDS * 3)]
    return compared(pairs, "with", "without")


def decoding_ns(batch: bytes, read_uniform: Callable[..., Any]) -> float:
    codec.read_uniform_records = read_uniform
    began = time.perf_counter()
    columns = codec.decode_records(batch, read_header(batch))
    assert columns.headers is not None
    return (time.perf_counter() - began) / DECODED * 1e9


def compared(pairs: Sequence[tuple[float, float]], first: str, second: str) -> dict[str, float]:
    ratio = statistics.median(one / other for one, other in pairs)
    medians = [round(statistics.median(column)) for column in zip(*pairs, strict=True)]
    return {first: medians[0], second: medians[1], "ratio": round(ratio, 2)}


def main() -> None:
    chance = random.Random(1)
    alike, mixed = [b"x" * 100] * RECORDS, [b"x" * chance.randint(0, 200) for _ in range(RECORDS)]
    show({"ingest": {"100 bytes": ingest(alike), "0 to 200 bytes": ingest(mixed)}, "decode": decode()})


if __name__ == "__main__":
    run_main(main)
