"""Topics for groups with their consumers, on each cluster."""

from __future__ import annotations

import itertools
import uuid

import pytest
from confluent_kafka import Producer

from broker.groups.consumers import WAIT, Confluent, KafkaPython


@pytest.fixture(scope="session")
def topic(new_topic):
    """A topic shared by tests that need only an existing topic."""
    return new_topic()


@pytest.fixture(params=[Confluent, KafkaPython])
def consumer(request, cluster, admin):
    """Make consumers of one group; the ones still open are closed behind the test."""
    made, group = [], f"g-{uuid.uuid4().hex[:8]}"

    def make(topic, instance=None, **settings):
        made.append(request.param(cluster.bootstrap_servers, group, topic, instance, **settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def filled(cluster, new_topic):
    """A topic of four partitions with ten records in each."""
    topic = new_topic(4)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    for number, partition in itertools.product(range(10), range(4)):
        producer.produce(topic, b"%d-%d" % (partition, number), partition=partition)
    assert producer.flush(WAIT) == 0
    return topic
