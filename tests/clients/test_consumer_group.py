"""Java's consumer and librdkafka's share a consumer group (KIP-848) on the embedded broker."""

from __future__ import annotations

from broker.groups.consumers import Confluent, shared, until

CONSUMER = ("--consumer-property", "group.protocol=consumer")


def test_consumers_of_two_makers_share_a_consumer_group(java, tool, embedded, topic, fresh):
    """GRP-04: Java's tool shows the group with its members; the one that stays takes over."""
    name, group = topic(2), fresh("group")
    where = ("--bootstrap-server", embedded, "--topic", name, "--group", group, "--from-beginning", *CONSUMER)
    tool("kafka-console-producer", "--topic", name, stdin="here\n")
    with java.start("kafka-console-consumer", *where) as running:
        while "here" not in running.output():
            assert running.running(), running.output()
        other = Confluent(embedded, group, name, group_protocol="consumer")
        until(lambda: other.poll() or len(other.partitions()) == 1)

        state = tool("kafka-consumer-groups", "--describe", "--group", group, "--state")
        members = tool("kafka-consumer-groups", "--describe", "--group", group, "--members", "--verbose")
        running.end()
    until(lambda: shared(other, partitions=2))
    other.close()
    listed = tool("kafka-consumer-groups", "--list", "--type", "consumer", "--state")
    tool("kafka-consumer-groups", "--delete", "--group", group)

    assert "uniform" in state.out
    assert "Stable" in state.out
    assert members.out.count(f"{name}:") >= 2
    assert [line.split()[:3] for line in listed.lines if group in line] == [[group, "Consumer", "Empty"]]
