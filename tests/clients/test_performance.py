"""Kafka's performance tools find every record they sent, and none they took back."""

from __future__ import annotations

import re

import pytest

RECORDS = 50_000
SENT = rf"^{RECORDS} records sent, "


@pytest.fixture
def send(java, embedded):
    """Runs the performance producer, which takes its cluster as a property."""

    def run(topic, *arguments, records=RECORDS, **properties):
        given = [f"{name.replace('_', '.')}={value}" for name, value in properties.items()]
        size = ("--num-records", records, "--record-size", 100, "--throughput", -1)
        where = ("--producer-props", f"bootstrap.servers={embedded}", *given)
        return java.run("kafka-producer-perf-test", "--topic", topic, *size, *arguments, *where)

    return run


@pytest.fixture
def ends(tool):
    """The end offsets of a topic, by partition."""

    def look(topic):
        return [int(line.rsplit(":", 1)[1]) for line in tool("kafka-get-offsets", "--topic", topic).lines]

    return look


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_of_the_java_client_arrive_whole(send, tool, topic, codec):
    """Each codec as Java writes it, read back by Java."""
    name = topic()

    output = send(name, records=2_000, compression_type=codec)
    read = tool("kafka-console-consumer", "--topic", name, "--partition", 0, "--from-beginning", "--max-messages", 2000)

    assert output.status == 0, output.err
    assert {len(line) for line in read.lines} == {100}
    assert len(read.lines) == 2_000


def test_the_java_producer_uses_an_epoch_for_each_transaction(send, tool, topic, fresh):
    """KIP-890 (transaction.version 2): every commit raises the epoch, seen where the partition keeps it."""
    name, transactional_id = topic(), fresh("id")

    output = send(name, "--transactional-id", transactional_id, "--transaction-duration-ms", 20)
    producers = tool("kafka-transactions", "describe-producers", "--topic", name, "--partition", 0)
    (commits,) = re.findall(r"(\d+) transactions? ", output.out) or ["0"]

    epoch = int(producers.lines[1].split()[1])
    assert output.status == 0, output.err
    assert epoch > 1, f"{producers.out} after {commits} transactions"
