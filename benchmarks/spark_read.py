"""Measure `spark.read.format("eosfw")` beside Spark's own Kafka source: one topic, one session, turn by turn.

Run with PySpark 4.0, the one whose Kafka source the registry holds whole:
    uv run --isolated --with pyspark==4.0.5 --group test python benchmarks/spark_read.py
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jgo
from benchmark import ContenderError, run_main, scaled, show
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession

from eosfw_spark import session

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from real_kafka import RealKafka

GOAL = 0.95
KAFKA_SOURCE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
JARS = ("spark-sql-kafka", "spark-token-provider-kafka", "kafka-clients", "commons-pool2")
PER_TRANSACTION = scaled(10_000)


def fill(servers: str, topic: str, records: int, size: int, partitions: int) -> int:
    """Write the topic in transactions, every tenth of them aborted; return the committed bytes."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
    settings = {
        "transactional.id": topic,
        "linger.ms": 20,
        "batch.size": 262_144,
        "queue.buffering.max.messages": 1_000_000,
    }
    producer = Producer({"bootstrap.servers": servers, **settings})
    producer.init_transactions(30)
    committed = 0
    for start in range(0, records, PER_TRANSACTION):
        producer.begin_transaction()
        for number in range(start, min(records, start + PER_TRANSACTION)):
            producer.produce(topic, b"%0*d" % (size, number), partition=number % partitions)
        producer.flush(60)
        if start // PER_TRANSACTION % 10 == 9:
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)
            committed += min(records, start + PER_TRANSACTION) - start
    return committed * size


def frame(spark: SparkSession, source: str, servers: str, topic: str, **more: str) -> DataFrame:
    """One topic, committed records alone, by either source with the same options."""
    reader = spark.read.format(source).option("subscribe", topic).option("kafka.bootstrap.servers", servers)
    return (
        reader.option("kafka.isolation.level", "read_committed")
        .option("startingOffsets", "earliest")
        .options(**more)
        .load()
    )


def seconds_of(read: DataFrame) -> float:
    """How long it takes to read everything into nothing."""
    before = time.perf_counter()
    read.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - before


def measure(spark: SparkSession, servers: str, topic: str, rounds: int) -> dict[str, list[float]]:
    """Both sources in turn, after one round to warm up."""
    counts = {source: frame(spark, source, servers, topic).count() for source in ("kafka", "eosfw")}
    if counts["kafka"] != counts["eosfw"]:
        raise ContenderError(f"the sources disagree: {counts}")
    taken: dict[str, list[float]] = {"kafka": [], "eosfw": []}
    for turn in range(rounds + 1):
        # Who goes first changes from round to round, so that neither always finds the other's leftovers.
        for source, times in sorted(taken.items(), reverse=bool(turn % 2)):
            spent = seconds_of(frame(spark, source, servers, topic))
            if turn:
                times.append(spent)
    return taken


def kafka_jars() -> str:
    """Spark's Kafka source with what Spark itself lacks of its dependencies."""
    return ",".join(str(jar) for jar in jgo.build(KAFKA_SOURCE).all_jars if Path(jar).name.startswith(JARS))


@contextmanager
def cluster(servers: str | None) -> Iterator[str]:
    """The given cluster, or a Kafka of our own."""
    if servers:
        yield servers
        return
    node = RealKafka.start(java_options=())
    try:
        yield node.bootstrap_servers
    finally:
        node.stop()


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", help="a running Kafka; else one is started")
    parser.add_argument("--records", type=int, default=scaled(1_000_000))
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=scaled(7))
    given = parser.parse_args()
    topic = f"bench-{uuid.uuid4().hex[:8]}"
    with cluster(given.servers) as servers:
        megabytes = fill(servers, topic, given.records, given.size, given.partitions) / 1e6
        running = session.start(cores=2, more={"spark.jars": kafka_jars()})
        try:
            taken = measure(running.spark, servers, topic, given.rounds)
            version = running.spark.version
        finally:
            running.close()
    rates = {source: [megabytes / spent for spent in times] for source, times in taken.items()}
    # Round by round: what else the machine does then slows both.
    ratio = statistics.median(theirs / ours for theirs, ours in zip(taken["kafka"], taken["eosfw"], strict=True))
    shown = {
        source: {"median": round(statistics.median(all_), 1), "best": round(max(all_), 1)}
        for source, all_ in rates.items()
    }
    show({"spark": version, "records": given.records, "MB/s": shown, "ratio": round(ratio, 2), "goal": GOAL})


if __name__ == "__main__":
    run_main(main)
