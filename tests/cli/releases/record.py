"""Record what a release leaves behind, by `python tests/cli/releases/record.py` with its wheels and PySpark.

Needs eosfw-memory, eosfw-confluent, eosfw-rest, eosfw-spark and eosfw-sql. Writes golden/VERSION.tar.gz beside this
file: a data directory, the topics of a worker group and of a Spark query in it, and the query's checkpoint.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

import eosfw

EOSFW = (sys.executable, "-c", "from eosfw.cli import main; main()")
GOLDEN = Path(__file__).with_name("golden")


def main() -> None:
    """Do what a user of the release does, then pack what is there afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        with started(
            folder, "broker", "--listen", "127.0.0.1:0", "--data-dir", "data", says="listening on "
        ) as servers:
            transactions(servers)
            worker_group(folder, servers)
            query(servers)
        kept = ["data", "checkpoint", "shop.db"]
        with tarfile.open(GOLDEN / f"{eosfw.__version__}.tar.gz", "w:gz") as archive:
            for each in kept:
                archive.add(each)


def transactions(servers: str) -> None:
    """A topic with one committed, one aborted and one open transaction; a consumer that stands in the middle."""
    producer = transactional(servers, "kept")
    send(producer, "orders", b"committed 1", b"committed 2")
    producer.commit_transaction()
    producer.begin_transaction()
    send(producer, "orders", b"aborted", begin=False)
    producer.abort_transaction()
    send(transactional(servers, "left open"), "orders", b"open")
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "readers"})
    consumer.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
    consumer.close()


def transactional(servers: str, transactional_id: str) -> Producer:
    """A producer that holds this id."""
    producer = Producer(
        {
            "bootstrap.servers": servers,
            "transactional.id": transactional_id,
            # Longer than it takes to record the rest.
            "transaction.timeout.ms": 900_000,
        }
    )
    producer.init_transactions()
    return producer


def send(producer: Producer, topic: str, *values: bytes, begin: bool = True) -> None:
    """Have these records stored, in a transaction that stays open."""
    if begin:
        producer.begin_transaction()
    for value in values:
        producer.produce(topic, value)
    producer.flush()


def worker_group(folder: Path, servers: str) -> None:
    """A connector that has read its table, and one that is stopped."""
    # Not `file`: to it a file that was copied is another one.
    with contextlib.closing(sqlite3.connect("shop.db")) as shop, shop:
        shop.execute("CREATE TABLE lines (id INTEGER PRIMARY KEY)")
        shop.executemany("INSERT INTO lines VALUES (?)", [(1,), (2,), (3,)])
    properties = {
        "bootstrap.servers": servers,
        "backend": "memory",
        "group.id": "workers",
        "exactly.once.source.support": "enabled",
        "listeners": "http://127.0.0.1:0",
        "offset.storage.partitions": "1",
    }
    Path("worker.properties").write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    with started(folder, "worker", "worker.properties", says="REST interface at ") as url:
        until(lambda: call(f"{url}/health")["status"] == "healthy")
        for name, state in {"lines": "RUNNING", "stopped": "STOPPED"}.items():
            config = {
                "connector.class": "sql",
                "connection.url": "sqlite:///shop.db",
                "mode": "incrementing",
                "table.whitelist": "lines",
                "topic.prefix": "db-",
                "value.converter": "json",
            }
            call(f"{url}/connectors", {"name": name, "config": config, "initial_state": state})
        until(lambda: call(f"{url}/connectors/lines/offsets")["offsets"])


def query(servers: str) -> None:
    """A stream from a topic into another, both with eosfw's format."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    subprocess.run([*EOSFW, "topics", "create", "copied", "--bootstrap-servers", servers], check=True)
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        read = spark.readStream.format("eosfw").option("kafka.bootstrap.servers", servers)
        rows = read.option("subscribe", "db-lines").option("startingOffsets", "earliest").load().select("value")
        write = rows.writeStream.format("eosfw").option("kafka.bootstrap.servers", servers).option("topic", "copied")
        write = write.option("checkpointLocation", "checkpoint").trigger(availableNow=True)
        write.start().awaitTermination()
    finally:
        spark.stop()


@contextlib.contextmanager
def started(folder: Path, *words: str, says: str) -> Iterator[str]:
    """A command of eosfw until SIGTERM; what it prints after these words."""
    process = subprocess.Popen([*EOSFW, *words], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout or ():
            if says in line:
                yield line.split(says)[1].strip()
                break
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()
    if process.returncode:
        sys.exit(f"record: {words[0]} ended with {process.returncode}")


def call(url: str, body: object = None) -> Any:
    """A request of the REST interface."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"})) as answer:
        return json.loads(answer.read())


def until(holds: Callable[[], object]) -> None:
    """Ask again while it does not hold or cannot be asked."""
    for _ in range(300):
        with contextlib.suppress(OSError):
            if holds():
                return
        time.sleep(0.2)
    sys.exit("record: the worker did not get so far within a minute")


if __name__ == "__main__":
    main()
