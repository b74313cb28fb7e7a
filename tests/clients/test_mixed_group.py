"""Consumers of three makers share one group, by the protocols that all of them speak."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient

from broker.groups.consumers import Confluent, KafkaPython, poll, until

PARTITIONS = 6
JAVAS = {"range": "RangeAssignor", "cooperative-sticky": "CooperativeStickyAssignor"}

pytestmark = pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")


@pytest.fixture
def shares(embedded):
    """What each member of a group has, by the client id it chose."""
    admin = AdminClient({"bootstrap.servers": embedded, "log_level": 0})

    def look(group):
        found = admin.describe_consumer_groups([group])[group].result(30)
        return {
            member.client_id: {one.partition for one in member.assignment.topic_partitions} for member in found.members
        }

    return look


def even(found, members):
    """Whether so many members have the same number of partitions each, every partition once."""
    every = sorted(partition for one in found.values() for partition in one)
    sizes = {len(one) for one in found.values()}
    return every == list(range(PARTITIONS)) and sizes == {PARTITIONS // members}


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_clients_of_three_makers_share_a_group(java, embedded, topic, fresh, shares, strategy):
    """GRP-02, KIP-429: any client may lead and assign; the others take over the partitions of a leaving member."""
    name, group = topic(PARTITIONS), fresh("group")
    settings = {"client_id": "one", "partition_assignment_strategy": strategy}
    one = Confluent(embedded, group, name, **settings)
    until(lambda: one.poll() or one.partitions())
    other = KafkaPython(embedded, group, name, **{**settings, "client_id": "other"})
    javas = f"partition.assignment.strategy=org.apache.kafka.clients.consumer.{JAVAS[strategy]}"
    where = ("--bootstrap-server", embedded, "--topic", name, "--group", group, "--consumer-property", javas)

    with java.start("kafka-console-consumer", *where) as third:
        until(lambda: poll(one, other) or even(shares(group), 3))
        together = shares(group)
        third.end()
    until(lambda: poll(one, other) or even({"one": one.partitions(), "other": other.partitions()}, 2))

    assert set(together) == {"one", "other", "console-consumer"}
    assert shares(group) == {"one": one.partitions(), "other": other.partitions()}
    one.close()
    other.close()
