"""A user's program on Spark Connect: writes a batch and a stream, tries a micro-batch again, reads both topics.

Arguments: the cluster, a folder, the topic of the batch, the topic of the stream. Prints what it found as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter
from pyspark.sql.streaming.query import StreamingQuery

SERVERS, FOLDER, BATCH, STREAM = sys.argv[1:]
OPTIONS = {"kafka.bootstrap.servers": SERVERS}
LATE = "Python worker failed to connect back"
"""What Spark says on a busy machine, before anything is read: a user starts the query again, as the page has it."""


def values(frame: DataFrame) -> list[str]:
    return sorted(row.value for row in frame.selectExpr("CAST(value AS STRING) AS value").collect())


def committed(spark: SparkSession, topic: str) -> DataFrame:
    return spark.read.format("eosfw").options(**OPTIONS, subscribe=topic).load()


def run(writer: DataStreamWriter) -> StreamingQuery:
    """Start a query, and wait for its end."""
    while True:
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except StreamingQueryException as why:
            if LATE not in str(why):
                raise
        else:
            return query


def write_stream(spark: SparkSession) -> None:
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(f"{FOLDER}/input")
    writer = lines.writeStream.format("eosfw").options(**OPTIONS, topic=STREAM)
    run(writer.option("checkpointLocation", f"{FOLDER}/sent"))


def main() -> None:
    # Spark starts a server of its own beside this process, which holds no Spark.
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    rows = spark.createDataFrame([(value,) for value in "abc"], "value STRING")
    rows.write.format("eosfw").options(**OPTIONS, topic=BATCH).mode("append").save()

    write_stream(spark)
    for commit in Path(FOLDER, "sent", "commits").glob("*1*"):  # as if Spark died behind the sink's commit
        commit.unlink()
    write_stream(spark)

    stream = spark.readStream.format("eosfw").options(
        **OPTIONS, subscribe=STREAM, startingOffsets="earliest", maxOffsetsPerTrigger="2"
    )
    query = run(stream.load().writeStream.format("memory").queryName("seen"))
    found = {
        "session": type(spark).__module__,
        "batch": values(committed(spark, BATCH)),
        "stream": values(committed(spark, STREAM)),
        "seen": values(spark.table("seen")),
        "batches": len(query.recentProgress) > 1,
    }
    sys.stdout.write(f"{json.dumps(found)}\n")
    spark.stop()


if __name__ == "__main__":
    main()
