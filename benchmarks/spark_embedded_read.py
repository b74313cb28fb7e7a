"""Measure a batch read of topics that lie in the embedded broker's memory, beside a bare Python source and parquet.

All hold the same rows with the same columns. The bare source makes Arrow batches of Python lists that it has already,
with no client and no log: the most that any source written in Python can reach. Spark has processes of its own, so the
broker is read through its socket: by the client `memory`, which decodes into Arrow columns, and by librdkafka.
"""

from __future__ import annotations

import argparse
import statistics
import uuid
from collections.abc import Callable, Iterator, Sequence
from operator import truediv
from typing import Any

import pyarrow as pa
from benchmark import ContenderError, run_main, scaled, show
from embedded_broker import embedded_process
from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from spark_read import fill, frame, seconds_of

from eosfw_spark import session

GOALS = {"lists": 0.8, "parquet": 0.4, "confluent": 1.1}
PARTITIONS = 2
BATCH = 65_536
COLUMNS = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
TYPES = (pa.binary(), pa.binary(), pa.string(), pa.int32(), pa.int64(), pa.timestamp("us", tz="UTC"), pa.int32())


class Lists(DataSource):
    """Rows that a task makes of Python lists."""

    @classmethod
    def name(cls) -> str:
        return "lists"

    def schema(self) -> str:
        return COLUMNS

    def reader(self, schema: Any) -> DataSourceReader:
        return ListsReader(int(self.options["rows"]), int(self.options["size"]))


class ListsReader(DataSourceReader):
    """The same list of values for each Arrow batch."""

    def __init__(self, rows: int, size: int) -> None:
        self._rows = rows
        self._size = size

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(PARTITIONS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        mine = (self._rows - partition.value + PARTITIONS - 1) // PARTITIONS
        values = [b"%0*d" % (self._size, number) for number in range(min(BATCH, mine))]
        schema = pa.schema([(each.split()[0], type_) for each, type_ in zip(COLUMNS.split(", "), TYPES, strict=True)])
        for start in range(0, mine, BATCH):
            n = min(BATCH, mine - start)
            offsets = list(range(start, start + n))
            lists = ([None] * n, values[:n], ["lists"] * n, [partition.value] * n, offsets, [1_000] * n, [0] * n)
            arrays = [pa.array(each, type_) for each, type_ in zip(lists, TYPES, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def rates(readers: dict[str, Callable[[], DataFrame]], rounds: int) -> dict[str, list[float]]:
    """Rows per second of each, in turn, after a round to warm up."""
    counts = {name: read().count() for name, read in readers.items()}
    if len(set(counts.values())) > 1:
        raise ContenderError(f"not the same rows: {counts}")
    found: dict[str, list[float]] = {name: [] for name in readers}
    for turn in range(rounds + 1):
        # Who goes first changes from round to round.
        for name in sorted(readers, reverse=bool(turn % 2)):
            rate = counts[name] / seconds_of(readers[name]())
            if turn:
                found[name].append(rate)
    return found


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=scaled(1_000_000))
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=scaled(5))
    given = parser.parse_args()
    topic = f"bench-{uuid.uuid4().hex[:8]}"
    with embedded_process() as servers:
        rows = fill(servers, topic, given.records, given.size, PARTITIONS) // given.size
        running = session.start(cores=2)
        try:
            spark = running.spark
            parquet = str(running.folder("rows.parquet"))
            frame(spark, "eosfw", servers, topic).write.parquet(parquet)
            spark.dataSource.register(Lists)
            lists = spark.read.format("lists").option("rows", rows).option("size", given.size)
            readers = {
                "eosfw": lambda: frame(spark, "eosfw", servers, topic, backend="memory"),
                "confluent": lambda: frame(spark, "eosfw", servers, topic),
                "lists": lists.load,
                "parquet": lambda: spark.read.parquet(parquet),
            }
            found = rates(readers, given.rounds)
            version = spark.version
        finally:
            running.close()
    over = {
        name: {"ratio": round(statistics.median(map(truediv, found["eosfw"], found[name])), 2), "goal": goal}
        for name, goal in GOALS.items()
    }
    shown = {name: round(statistics.median(all_)) for name, all_ in found.items()}
    show({"spark": version, "records": rows, "rows/s": shown, "eosfw over": over})


if __name__ == "__main__":
    run_main(main)
