"""Topics on each cluster, with unmodified clients of it."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from broker.groups.raw import WAIT, Raw, find


@pytest.fixture(scope="session")
def admin(cluster):
    """An unmodified admin client; the coordinators are there."""
    raw = Raw(cluster.bootstrap_servers)
    find(raw, "any", 0)
    find(raw, "any", 1)
    raw.close()
    return AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})


@pytest.fixture(scope="session")
def new_topic(admin):
    """Make topics."""

    def make(partitions: int = 1) -> str:
        name = f"t-{uuid.uuid4().hex[:8]}"
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(WAIT)
        while name not in admin.list_topics(timeout=WAIT).topics:
            """A real Kafka tells its brokers one by one."""
        return name

    return make


@pytest.fixture(scope="session")
def topic(new_topic):
    """One topic for whoever needs only that it exists."""
    return new_topic()
