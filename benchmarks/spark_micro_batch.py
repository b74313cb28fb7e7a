"""Measure a micro-batch of `readStream.format("eosfw")` beside Spark's own Kafka source: one session, in turn.

Run with PySpark 4.0, the one whose Kafka source the registry holds whole; a later one measures ours alone:
    uv run --isolated --with pyspark==4.0.5 --group test python benchmarks/spark_micro_batch.py
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import uuid

from benchmark import ContenderError, run_main, scaled, show
from pyspark.sql import SparkSession
from spark_read import cluster, fill, kafka_jars

from eosfw_spark import session

GOALS = {1_000: 1.0, 100_000: 0.8}
WARM_UP = 2
"""First batches of each query that do not count."""
LONGEST = 300
SOURCES = {"kafka": ("kafka", {}), "memory": ("eosfw", {"backend": "memory"}), "confluent": ("eosfw", {})}
"""The format and its options; `memory` decodes into Arrow columns in tasks."""


def milliseconds(spark: SparkSession, source: str, servers: str, topic: str, rows: int, batches: int) -> list[float]:
    """How long each batch of a new query took, from its trigger to its entry in the commit log."""
    name, more = SOURCES[source]
    reader = spark.readStream.format(name).option("subscribe", topic).option("kafka.bootstrap.servers", servers)
    reader = reader.options(**more)
    reader = reader.option("kafka.isolation.level", "read_committed").option("startingOffsets", "earliest")
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = reader.option("maxOffsetsPerTrigger", rows).load().writeStream.format("noop")
        query = writer.option("checkpointLocation", checkpoint).start()
        try:
            for _ in range(LONGEST * 10):
                done = [each for each in query.recentProgress if each["numInputRows"]]
                if len(done) >= batches + WARM_UP:
                    break
                query.awaitTermination(0.1)
            else:
                raise ContenderError(f"{source}: {len(done)} batches in {LONGEST} s")
        finally:
            query.stop()
    return [float(each["durationMs"]["triggerExecution"]) for each in done[WARM_UP : batches + WARM_UP]]


def compared(spark: SparkSession, servers: str, rows: int, given: argparse.Namespace) -> dict[str, object]:
    """All sources in turn, over one topic."""
    batches = given.batches if rows < max(GOALS) else max(2, given.batches // 6)
    topic = f"bench-{uuid.uuid4().hex[:8]}"
    # A tenth is aborted, and a query may be some batches ahead when it is stopped.
    fill(servers, topic, max(100, scaled(rows) * (batches + WARM_UP) * 2), given.size, given.partitions)
    sources = [each for each in SOURCES if each != "kafka" or spark.version.startswith("4.0")]
    taken: dict[str, list[float]] = {source: [] for source in sources}
    for turn in range(given.rounds + 1):
        for source in sources if turn % 2 else reversed(sources):
            spent = statistics.median(milliseconds(spark, source, servers, topic, scaled(rows), batches))
            if turn:  # the first round warms up
                taken[source].append(spent)
    shown: dict[str, object] = {source: round(statistics.median(times), 1) for source, times in taken.items()}
    if "kafka" in taken:
        for source in sources[1:]:
            ratios = [ours / theirs for ours, theirs in zip(taken[source], taken["kafka"], strict=True)]
            shown[f"{source} over kafka"] = round(statistics.median(ratios), 2)
        shown["goal"] = GOALS[rows]
    return shown


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", help="a running Kafka; else one is started")
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--batches", type=int, default=max(4, scaled(60)), help="small batches of each query")
    parser.add_argument("--rounds", type=int, default=max(1, scaled(5)))
    given = parser.parse_args()
    with cluster(given.servers) as servers:
        jars = {"spark.jars": kafka_jars()}
        running = session.start(cores=2, more=jars)
        try:
            shown = {f"{rows} rows, ms": compared(running.spark, servers, rows, given) for rows in GOALS}
            version = running.spark.version
        finally:
            running.close()
    show({"spark": version, **shown})


if __name__ == "__main__":
    run_main(main)
