"""Clients of the newer group protocol (KIP-848) get an immediate error."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaError

WAIT = 20.0


def test_confluents_consumer_of_the_newer_protocol_fails_for_good(embedded, topic, fresh):
    """KIP-848: a fatal error that names the reason, no silence."""
    settings = {"group.id": fresh("group"), "group.protocol": "consumer", "log_level": 0}
    consumer = Consumer({"bootstrap.servers": embedded, **settings})
    consumer.subscribe([topic()])

    deadline = time.monotonic() + WAIT
    while (reported := consumer.poll(0.1)) is None:
        assert time.monotonic() < deadline, f"not a word in {WAIT:g} s"
    consumer.close()

    assert reported.error().code() == KafkaError._FATAL
    assert "ConsumerGroupHeartbeat fatal error: Broker: API version not supported" in reported.error().str()


def test_javas_consumer_of_the_newer_protocol_fails_for_good(java, embedded, topic, fresh):
    """KIP-848: the client's own words say what to set."""
    newer = ("--group", fresh("group"), "--consumer-property", "group.protocol=consumer")

    output = java.run("kafka-console-consumer", "--bootstrap-server", embedded, "--topic", topic(), *newer)

    assert "UnsupportedVersionException" in output.err
    assert "group.protocol=classic" in output.err
