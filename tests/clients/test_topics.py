"""Kafka's topic tools work with the embedded broker as with Kafka."""

from __future__ import annotations

import json
import re

from confluent_kafka import Producer

WAIT = 30.0


def test_topics_are_created_listed_described_deleted(tool, fresh):
    """`kafka-topics` as an operator uses it."""
    name = fresh("topic")

    created = tool("kafka-topics", "--create", "--topic", name, "--partitions", 3, "--config", "retention.ms=1000")
    listed = tool("kafka-topics", "--list")
    described = tool("kafka-topics", "--describe", "--topic", name)
    tool("kafka-topics", "--delete", "--topic", name)
    left = tool("kafka-topics", "--list")

    assert created.lines == [f"Created topic {name}."]
    assert name in listed.lines
    assert re.search(r"PartitionCount: 3\s+ReplicationFactor: 1\s+Configs: .*retention\.ms=1000", described.lines[0])
    assert [line.split("\tElr")[0] for line in described.lines[1:]] == [
        f"Topic: {name}\tPartition: {number}\tLeader: 1\tReplicas: 1\tIsr: 1" for number in range(3)
    ]
    assert name not in left.lines


def test_a_topic_that_exists_is_refused_in_kafkas_words(java, embedded, topic):
    """An operator's script recognises the error by its text."""
    name = topic()

    output = java.run("kafka-topics", "--bootstrap-server", embedded, "--create", "--topic", name)

    assert output.status == 1
    assert f"Topic '{name}' already exists." in output.out


def test_a_topics_configuration_is_described_with_its_origin(tool, topic):
    """`kafka-configs` tells what was set from what is a default."""
    name = topic(**{"cleanup.policy": "compact"})

    given = tool("kafka-configs", "--describe", "--topic", name)
    everything = tool("kafka-configs", "--describe", "--topic", name, "--all")

    assert given.lines[0] == f"Dynamic configs for topic {name} are:"
    assert [line.split(" ")[0] for line in given.lines[1:]] == ["cleanup.policy=compact"]
    assert {"cleanup.policy=compact", "segment.bytes=1073741824"} <= {line.split(" ")[0] for line in everything.lines}


def test_every_request_served_can_be_used_by_the_java_client(tool):
    """What is advertised and what Kafka's own client speaks overlap, request by request."""
    output = tool("kafka-broker-api-versions")

    usable = dict(re.findall(r"(\w+)\(\d+\): \d+(?: to \d+)? \[usable: (\d+)\]", output.out))
    assert {"Produce", "Fetch", "InitProducerId", "EndTxn", "TxnOffsetCommit", "JoinGroup"} <= usable.keys()
    assert "unusable" not in output.out


def test_a_clusters_features_say_which_transactions_it_speaks(tool):
    """KIP-890: a client chooses by the finalised level of `transaction.version`."""
    output = tool("kafka-features", "describe")

    levels = dict(re.findall(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\d+)", output.out))
    assert levels["transaction.version"] == "2"


def test_offsets_are_those_of_each_isolation_level_and_time(tool, topic, embedded, fresh):
    """`kafka-get-offsets` for the end, the start, a time."""
    name = topic(2)
    producer = Producer({"bootstrap.servers": embedded})
    for number in range(5):
        producer.produce(name, b"%d" % number, partition=0, timestamp=1000 + number)
    producer.flush(WAIT)

    asked = {time: tool("kafka-get-offsets", "--topic", name, "--time", time).lines for time in (-1, -2, 1003)}

    assert asked == {-1: [f"{name}:0:5", f"{name}:1:0"], -2: [f"{name}:0:0", f"{name}:1:0"], 1003: [f"{name}:0:3"]}


def test_the_place_of_a_topic_is_described_with_its_size(tool, embedded, topic):
    """`kafka-log-dirs`, that is AdminClient.describeLogDirs (KIP-113)."""
    name = topic(partitions=2)
    producer = Producer({"bootstrap.servers": embedded})
    producer.produce(name, b"x" * 1000, partition=1)
    producer.flush(WAIT)

    output = tool("kafka-log-dirs", "--describe", "--topic-list", name)

    [broker] = json.loads(output.lines[-1])["brokers"]
    [place] = broker["logDirs"]
    assert (broker["broker"], place["logDir"], place["error"]) == (1, "(memory)", None)
    sizes = {each["partition"]: each["size"] for each in place["partitions"]}
    assert sizes[f"{name}-0"] == 0
    assert 1000 < sizes[f"{name}-1"] < 1200
