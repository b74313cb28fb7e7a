"""Kafka's own tool sets properties of single groups on the embedded broker, and shows them."""

from __future__ import annotations


def test_kafka_configs_sets_and_shows_the_properties_of_a_group(tool, fresh):
    """CMP-01, GRP-04: `kafka-configs --entity-type groups`."""
    group = fresh("group")
    of_it = ("--entity-type", "groups", "--entity-name", group)

    tool("kafka-configs", *of_it, "--alter", "--add-config", "consumer.session.timeout.ms=50000")
    given = tool("kafka-configs", *of_it, "--describe")
    tool("kafka-configs", *of_it, "--alter", "--delete-config", "consumer.session.timeout.ms")

    assert "consumer.session.timeout.ms=50000" in given.out
    assert "consumer.heartbeat.interval.ms" not in given.out
