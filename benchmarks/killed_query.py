"""The driver of `spark_kills.py`: one query on one checkpoint, started again whenever it fails.

`python killed_query.py` reads what to run from the folder of the kills, and ends when its parent does. With `--keep` it
runs no query, and keeps a session whose JVM outlives the drivers that attach to it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from kill_switch import FOLDER_VARIABLE, SHARED, KillFolder
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from eosfw_spark import session
from eosfw_spark.root_cause import root_cause
from pyspark_eosfw.foreach_batch import SharedTransactionSink

LOOK = 0.05
SETTINGS = {
    "spark.task.maxFailures": "4",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.5",
    # A killed executor is replaced as often as it takes.
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.excludeOnFailure.enabled": "false",
    "spark.executor.memory": "768m",
    "spark.sql.streaming.noDataProgressEventInterval": "10s",
}


class Driver:
    """The session and its query."""

    def __init__(self, spark: SparkSession, folder: KillFolder) -> None:
        self._spark, self._folder = spark, folder
        self._given: dict[str, Any] = folder.read("query")

    def start(self) -> StreamingQuery:
        """Copy the input with a computation, each partition into the one of the same number."""
        given, cluster = self._given, {"kafka.bootstrap.servers": self._given["servers"]}
        rows = self._spark.readStream.format("eosfw").options(**cluster, subscribe=given["input"])
        limited = rows.options(startingOffsets="earliest", **given["source"]).load()
        made = limited.selectExpr("partition", "concat(value, '|', crc32(value)) AS value")
        writer = made.writeStream
        if given["sink"]["mode"] == SHARED:
            writer = writer.foreachBatch(SharedTransactionSink({**cluster, "topic": given["output"]}))
        else:
            writer = writer.format("eosfw").options(**cluster, topic=given["output"], **given["sink"])
        self._folder.count("starts")
        return writer.option("checkpointLocation", given["checkpoint"]).start()

    def run(self) -> None:
        """Until the script asks for the end and all is read."""
        query, parent = self.start(), os.getppid()
        while os.getppid() == parent:
            if not query.isActive:
                query = self._start_again(query)
            elif self._folder.read("drain"):
                if self._drained(query):
                    self._folder.write("drained", True)
                    return
            elif (asked := self._folder.read("lose")) and asked != self._folder.read("lost")["number"]:
                query = self._lose_commit(query, asked)
            else:
                time.sleep(LOOK)

    def _start_again(self, failed: StreamingQuery) -> StreamingQuery:
        why = failed.exception()
        self._folder.write("error", None if why is None else root_cause(why).sentence)
        return self.start()

    def _drained(self, query: StreamingQuery) -> bool:
        try:
            query.processAllAvailable()
        except Exception:  # a query that is started again  # noqa: BLE001 - PySpark has many classes for it
            return False
        query.stop()
        return True

    def _lose_commit(self, query: StreamingQuery, number: int) -> StreamingQuery:
        """Delete what Spark wrote after the last batch was published, as if it had died before."""
        if not self._drained(query):
            return query
        batches = [path for path in Path(self._given["checkpoint"], "commits").iterdir() if path.name.isdecimal()]
        if batches:
            newest = max(batches, key=lambda path: int(path.name))
            newest.with_name(f".{newest.name}.crc").unlink(missing_ok=True)
            newest.unlink()
        self._folder.write("lost", {"number": number, "skipped": self._folder.counted("skipped")})
        return self.start()


def started(query: dict[str, Any]) -> session.Session:
    """A session with a JVM of its own."""
    # A second attempt beside the first one makes a batch of a shared transaction run again.
    speculation = {"spark.speculation": "false"} if query["sink"]["mode"] == SHARED else {}
    return session.start(cores=2, more={**SETTINGS, **speculation, "spark.master": query["master"]})


def keep(folder: KillFolder, running: session.Session) -> None:
    """Tell drivers how to attach to this session, until the parent ends."""
    parameters, parent = running.spark.sparkContext._gateway.gateway_parameters, os.getppid()  # noqa: SLF001
    folder.write("gateway", {"port": parameters.port, "secret": parameters.auth_token})
    while os.getppid() == parent:
        time.sleep(LOOK)


def attached(folder: KillFolder) -> SparkSession:
    """The kept session; what the driver before this one left running of its query is stopped, its tasks are not."""
    while (gateway := folder.read("gateway")) is None:
        time.sleep(LOOK)
    # As `spark-submit` tells the program that it starts.
    os.environ.update(PYSPARK_GATEWAY_PORT=str(gateway["port"]), PYSPARK_GATEWAY_SECRET=gateway["secret"])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    to = launch_gateway()
    java = to.jvm.JavaSparkContext(to.jvm.org.apache.spark.SparkContext.getOrCreate())
    spark = SparkSession(SparkContext(gateway=to, jsc=java, conf=SparkConf(_jconf=java.getConf())))
    for left in spark.streams.active:
        left.stop()
    return spark


def main() -> None:
    """Run until drained."""
    folder = KillFolder(Path(os.environ[FOLDER_VARIABLE]))
    query = folder.read("query")
    if query["kept"] and "--keep" not in sys.argv:
        Driver(attached(folder), folder).run()
        return
    running = started(query)
    try:
        if query["kept"]:
            keep(folder, running)
        else:
            Driver(running.spark, folder).run()
    finally:
        running.close()


if __name__ == "__main__":
    main()
