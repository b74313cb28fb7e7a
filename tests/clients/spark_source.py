"""Print, as JSON, what Spark's own Kafka source sees of a topic: a program, for its jars have to be there at the start.

Arguments: bootstrap servers, topic.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jgo
from pyspark.sql import DataFrame, SparkSession

from eosfw_spark import session

SOURCE = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
JARS = ("spark-sql-kafka", "spark-token-provider-kafka", "kafka-clients", "commons-pool2")
"""What Spark itself lacks of it."""


def batch(spark: SparkSession, options: dict[str, str]) -> DataFrame:
    return spark.read.format("kafka").options(**options).load()


def stream(spark: SparkSession, options: dict[str, str]) -> DataFrame:
    """The same topic in micro-batches, to the end as it is now."""
    reader = spark.readStream.format("kafka").options(**options, maxOffsetsPerTrigger="7")
    query = reader.load().writeStream.format("memory").queryName("seen").trigger(availableNow=True).start()
    query.awaitTermination(120)
    return spark.sql("SELECT * FROM seen")


def rows(frame: DataFrame) -> list[list[object]]:
    """Partition, offset, value of each record in order."""
    found = frame.selectExpr("partition", "offset", "CAST(value AS STRING) AS value").collect()
    return sorted([row.partition, row.offset, row.value] for row in found)


def main() -> None:
    servers, topic = sys.argv[1:]
    jars = [str(jar) for jar in jgo.build(SOURCE).all_jars if Path(jar).name.startswith(JARS)]
    running = session.start(cores=2, more={"spark.jars": ",".join(jars)})
    try:
        seen = {}
        for level in ("read_committed", "read_uncommitted"):
            options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"}
            options["kafka.isolation.level"] = level
            seen[level] = {"batch": rows(batch(running.spark, options)), "stream": rows(stream(running.spark, options))}
    finally:
        running.close()
    sys.stdout.write(json.dumps(seen) + "\n")


if __name__ == "__main__":
    main()
