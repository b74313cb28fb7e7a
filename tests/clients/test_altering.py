"""Kafka's own tools change topics that are in use."""

from __future__ import annotations

import re

from confluent_kafka import Producer

WAIT = 30.0


def test_a_topic_gets_more_partitions_and_other_properties(tool, topic):
    """CMP-01: `kafka-topics --alter`, `kafka-configs --alter`."""
    name = topic(1)

    tool("kafka-topics", "--alter", "--topic", name, "--partitions", 3)
    tool("kafka-configs", "--alter", "--topic", name, "--add-config", "retention.ms=1000,cleanup.policy=compact")
    tool("kafka-configs", "--alter", "--topic", name, "--delete-config", "cleanup.policy")

    described = tool("kafka-topics", "--describe", "--topic", name)
    assert re.search(r"PartitionCount: 3\s+ReplicationFactor: 1\s+Configs: .*retention\.ms=1000", described.lines[0])
    assert "cleanup.policy" not in described.lines[0]


def test_the_newest_record_is_found(tool, topic, embedded):
    """KIP-734: `kafka-get-offsets --time max-timestamp`."""
    name = topic(1)
    producer = Producer({"bootstrap.servers": embedded})
    for moment in (1000, 3000, 2000):
        producer.produce(name, b"v", partition=0, timestamp=moment)
    producer.flush(WAIT)

    assert tool("kafka-get-offsets", "--topic", name, "--time", "max-timestamp").lines == [f"{name}:0:1"]
