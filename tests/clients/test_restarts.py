"""A Java consumer survives broker restarts and the restore of an old data directory."""

from __future__ import annotations

import shutil

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from eosfw.concurrency import ThreadRuntime

from .serving import ServedBroker

WAIT = 60.0


@pytest.fixture
def broker(tmp_path):
    with ServedBroker(tmp_path / "served") as broker:
        yield broker


def write(broker, *values):
    producer = Producer({"bootstrap.servers": broker.address, "log_level": 0})
    for value in values:
        producer.produce("read", value, partition=0)
    assert producer.flush(WAIT) == 0


def shown(consumer, count):
    """The printed lines, once there are enough of them."""
    runtime = ThreadRuntime()
    deadline = runtime.now() + WAIT
    while len(lines := [line for line in consumer.output().splitlines() if line.startswith("value-")]) < count:
        assert runtime.now() < deadline, consumer.output()
        runtime.sleep(0.1)
    return lines


def test_a_java_consumer_survives_restarts_and_resets_when_records_are_lost(broker, java, tmp_path):
    """KIP-320: each start leads in a later epoch, so it validates its position; behind a lost end it is reset."""
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic("read", 1, 1)])["read"].result(WAIT)
    server = ("--bootstrap-server", broker.address, "--topic", "read", "--from-beginning", "--group", "readers")
    # While no broker answers, it would forget the topic, join again, and repeat what it has not committed yet.
    keep = ("--consumer-property", "metadata.recovery.strategy=none")
    consumer = java.start("kafka-console-consumer", *server, *keep)
    try:
        write(broker, b"value-1")
        shown(consumer, 1)
        for clean in (True, False):
            broker.bounce(clean=clean)
            write(broker, b"value-%d" % (2 + (not clean)))
            shown(consumer, 2 + (not clean))

        broker._program.end()
        shutil.copytree(broker.data, tmp_path / "copy")
        broker._start()
        write(broker, b"value-lost-1", b"value-lost-2")
        shown(consumer, 5)
        broker._program.end()
        shutil.rmtree(broker.data)
        shutil.copytree(tmp_path / "copy", broker.data)
        broker._start()
        write(broker, b"value-4")

        lines = shown(consumer, 6)
        assert lines[:5] == ["value-1", "value-2", "value-3", "value-lost-1", "value-lost-2"]
        assert lines[-1] == "value-4"
    finally:
        consumer.kill()
