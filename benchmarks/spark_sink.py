"""Measure `writeStream.format("eosfw")` beside Spark's own Kafka sink, which is at-least-once: one session, in turn.

Run with PySpark 4.0, the one whose Kafka sink the registry holds whole; a later one measures our modes alone:
    uv run --isolated --with pyspark==4.0.5 --group test python benchmarks/spark_sink.py
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from benchmark import ContenderError, run_main, scaled, show
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from spark_read import cluster, kafka_jars

from eosfw_spark import session
from pyspark_eosfw.foreach_batch import SharedTransactionSink

GOAL_ATOMIC = 200_000
GOAL_TIME = 1.25
GOAL_PARALLEL = 1.5
GOAL_SHARED = 1.1
FOREACH_BATCH = "foreachBatch"
LONGEST = 300.0
PAIRS = (
    ("atomic", "kafka"),
    ("parallel", "kafka"),
    ("parallel", "atomic"),
    ("shared", "kafka"),
    ("shared", "atomic"),
    ("shared", "parallel"),
)


def contenders(cores: int) -> dict[str, tuple[str, dict[str, str]]]:
    """The format and the options of each sink."""
    return {
        "kafka": ("kafka", {}),
        "atomic": ("eosfw", {}),
        "parallel": ("eosfw", {"mode": "parallel", "writers": str(cores)}),
        "shared": (FOREACH_BATCH, {}),
    }


class Contender:
    """One query that makes rows of the same size and writes them to a topic of its own."""

    def __init__(self, spark: SparkSession, servers: str, folder: Path, given: argparse.Namespace) -> None:
        self._spark, self._servers, self._folder, self._given = spark, servers, folder, given

    def start(self, name: str, form: str, options: Mapping[str, str]) -> StreamingQuery:
        """Start the query of a sink; it makes no row before it is resumed by the clock of its source."""
        topic = f"bench-{name}-{uuid.uuid4().hex[:8]}"
        admin = AdminClient({"bootstrap.servers": self._servers})
        admin.create_topics([NewTopic(topic, self._given.partitions, 1)])[topic].result(30)
        rows = self._spark.readStream.format("rate-micro-batch").option("rowsPerBatch", self._given.rows)
        made = rows.option("numPartitions", self._given.cores).load()
        padded = made.selectExpr(f"lpad(cast(value AS string), {self._given.size}, '0') AS value")
        given = {**options, "topic": topic, "kafka.bootstrap.servers": self._servers}
        if form == FOREACH_BATCH:
            writer = padded.writeStream.foreachBatch(SharedTransactionSink(given))
        else:
            writer = padded.writeStream.format(form).options(**given)
        return writer.option("checkpointLocation", str(self._folder / topic)).start()


def seconds_of_batches(query: StreamingQuery, batches: int) -> list[float]:
    """How long the sink's part of each batch took, without the first batches, which warm up."""
    deadline = time.monotonic() + LONGEST
    while query.isActive and len(query.recentProgress) < batches + 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    failure, progress = query.exception(), query.recentProgress
    query.stop()
    if failure is not None or len(progress) < batches + 2:
        raise ContenderError(f"{len(progress)} batches, then: {failure}")
    return [each["durationMs"]["addBatch"] / 1000 for each in progress[2 : batches + 2]]


def measure(
    contender: Contender, sinks: Mapping[str, tuple[str, dict[str, str]]], rounds: int, batches: int
) -> dict[str, list[float]]:
    """The median seconds of a batch for each sink and round; who goes first changes from round to round."""
    taken: dict[str, list[float]] = {name: [] for name in sinks}
    for turn in range(rounds):
        for name, (form, options) in sorted(sinks.items(), reverse=bool(turn % 2)):
            taken[name].append(statistics.median(seconds_of_batches(contender.start(name, form, options), batches)))
    return taken


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", help="a running Kafka; else one is started")
    parser.add_argument("--rows", type=int, default=scaled(200_000), help="of one batch")
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--batches", type=int, default=scaled(8))
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=scaled(3))
    parser.add_argument("--sinks", nargs="+", default=["kafka", "atomic", "parallel", "shared"])
    given = parser.parse_args()
    sinks = {name: how for name, how in contenders(given.cores).items() if name in given.sinks}
    folder = Path(tempfile.mkdtemp(prefix="eosfw-bench-"))
    jars = {"spark.jars": kafka_jars()} if "kafka" in sinks else {}
    try:
        with cluster(given.servers) as servers:
            running = session.start(cores=given.cores, more=jars)
            try:
                found = measure(Contender(running.spark, servers, folder, given), sinks, given.rounds, given.batches)
                version = running.spark.version
            finally:
                running.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rates = {name: round(given.rows / statistics.median(taken)) for name, taken in found.items()}
    goals = {
        "atomic rows/s": GOAL_ATOMIC,
        "atomic/kafka time": GOAL_TIME,
        "parallel/atomic rate": GOAL_PARALLEL,
        "shared/kafka time": GOAL_SHARED,
    }
    ratios = {
        f"{one}/{other} time": round(statistics.median(a / b for a, b in zip(found[one], found[other], strict=True)), 2)
        for one, other in PAIRS
        if one in found and other in found
    }
    show({"spark": version, "rows of a batch": given.rows, "rows/s": rates, "ratios": ratios, "goals": goals})


if __name__ == "__main__":
    run_main(main)
