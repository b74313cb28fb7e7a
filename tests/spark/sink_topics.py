"""What becomes of a sink's topic while its query runs, or between two runs."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient, NewPartitions

from eosfw.protocols import NewTopic
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness


def add_partition(lab: BackendHarness, servers: str, topic: str) -> None:
    """Give a topic one more partition than it has."""
    count = lab.admin.partitions([topic])[topic] + 1
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_partitions([NewPartitions(topic, count)])[topic].result(WAIT)
    lab.until(lambda: lab.admin.partitions([topic])[topic], lambda found: found == count)


def create_again(lab: BackendHarness, topic: str) -> None:
    """Delete a topic and create one of the same name."""
    count = lab.admin.partitions([topic])[topic]
    lab.admin.delete_topics([topic])
    lab.until(lab.admin.partitions, lambda found: topic not in found)
    lab.admin.create_topics([NewTopic(topic, count)])
