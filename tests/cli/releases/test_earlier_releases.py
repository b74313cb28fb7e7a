"""What an earlier release left behind is gone on from; record.py has written it."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.cli.test_worker import call, committed

from eosfw.concurrency import ThreadRuntime
from eosfw.registry import load_plugins

RELEASES = sorted(Path(__file__).with_name("golden").glob("*.tar.gz"))


@pytest.fixture(params=RELEASES, ids=lambda archive: archive.name.removesuffix(".tar.gz"))
def folder(request, tmp_path):
    """A folder as a release left it."""
    subprocess.run(["tar", "-xf", request.param, "-C", tmp_path], check=True, timeout=60)
    return tmp_path


@pytest.fixture
def servers(folder):
    """The embedded broker on its data directory."""
    cluster = load_plugins().cluster("memory").start({"log.dirs": str(folder / "data")}, ThreadRuntime())
    yield cluster.bootstrap_servers
    cluster.close()


@pytest.fixture(scope="session")
def spark(unavailable):
    """The process's session of Spark, which tests of other folders take over."""
    from eosfw_spark import session
    from eosfw_spark.java import java_problem

    if problem := java_problem():
        unavailable("spark", problem)
    running = session.start(cores=2)
    yield running.spark
    running.close()


def send(servers, transactional_id, topic, value):
    """Commit a record as the holder of this id."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": transactional_id})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, value)
    producer.commit_transaction()


def test_records_transactions_and_group_offsets_are_kept(servers):
    """Aborted stays aborted, and the next holder of an id ends what the release left open under it."""
    assert committed(servers, "orders") == [b"committed 1", b"committed 2"]

    send(servers, "left open", "orders", b"after")

    assert committed(servers, "orders") == [b"committed 1", b"committed 2", b"after"]
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "readers"})
    try:
        (kept,) = consumer.committed([TopicPartition("orders", 0)], timeout=30)
    finally:
        consumer.close()
    assert kept.offset == 1


def test_a_worker_group_goes_on_where_its_connectors_were(start, servers, folder):
    """Its topics hold connectors, their states and source offsets: nothing is read again."""
    with closing(sqlite3.connect(folder / "shop.db")) as shop, shop:
        shop.executemany("INSERT INTO lines VALUES (?)", [(4,), (5,)])
    properties = ["backend=memory", "group.id=workers", "exactly.once.source.support=enabled"]
    properties += [f"bootstrap.servers={servers}", "listeners=http://127.0.0.1:0", "offset.storage.partitions=1"]
    (folder / "worker.properties").write_text("\n".join(properties))

    worker = start("worker", "worker.properties")

    worker.until(lambda: len(committed(servers, "db-lines")) >= 5)
    assert [json.loads(row)["payload"]["id"] for row in committed(servers, "db-lines")] == [1, 2, 3, 4, 5]
    url = re.findall(r"REST interface at (\S+)", worker.out())[0]
    assert call(f"{url}/connectors/stopped/status")["connector"]["state"] == "STOPPED"


@pytest.mark.spark
@pytest.mark.ci
def test_a_query_goes_on_from_its_checkpoint_and_its_token(spark, servers, folder):
    """Both as `format("eosfw")`: the source's offsets, the last batch that the sink has published."""
    send(servers, "new", "db-lines", b"new")
    read = spark.readStream.format("eosfw").option("kafka.bootstrap.servers", servers)
    rows = read.option("subscribe", "db-lines").option("startingOffsets", "earliest").load().select("value")
    write = rows.writeStream.format("eosfw").option("kafka.bootstrap.servers", servers).option("topic", "copied")
    write = write.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)

    assert write.start().awaitTermination(120)

    copied = committed(servers, "copied")
    assert copied == committed(servers, "db-lines")
    assert (len(copied), copied[-1]) == (4, b"new")
