"""Unmodified kafka-python meets the embedded broker as it would meet Kafka."""

from __future__ import annotations

import warnings

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas in an old way
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import KafkaAdminClient
    from kafka.errors import ProducerFencedError

pytestmark = pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")


@pytest.fixture
def close():
    """Close clients behind the test."""
    made = []
    yield lambda client: made.append(client) or client
    for client in made:
        client.close(timeout=1) if isinstance(client, KafkaProducer) else client.close()


@pytest.fixture
def producer(clients, close):
    def make(name):
        made = close(KafkaProducer(bootstrap_servers=clients.servers, transactional_id=name))
        made.init_transactions()
        return made

    return make


END = 4
"""Two records, two markers."""


def write(producer, topic, value):
    producer.begin_transaction()
    producer.send(topic, value, partition=0)
    producer.flush()


def test_each_isolation_level_sees_its_records(clients, producer, close, until):
    """CON-01, CON-02."""
    topic, writer = clients.topic(), producer("kp")
    write(writer, topic, b"kept")
    writer.commit_transaction()
    write(writer, topic, b"dropped")
    writer.abort_transaction()

    def values(isolation):
        consumer = close(
            KafkaConsumer(
                bootstrap_servers=clients.servers,
                isolation_level=isolation,
                enable_auto_commit=False,
            )
        )
        where, seen = TopicPartition(topic, 0), []
        consumer.assign([where])
        consumer.seek_to_beginning()

        def at_the_end() -> bool:
            seen.extend(each.value for found in consumer.poll(100).values() for each in found)
            return consumer.position(where) == END

        until(at_the_end)
        return seen

    assert values("read_committed") == [b"kept"]
    assert values("read_uncommitted") == [b"kept", b"dropped"]


def test_a_second_producer_fences_the_first(clients, producer):
    """COR-03."""
    topic, zombie = clients.topic(), producer("kp-one")
    write(zombie, topic, b"zombie")
    producer("kp-one")

    with pytest.raises(ProducerFencedError):
        zombie.commit_transaction()


def test_transactions_are_described(clients, producer, close):
    """COR-18."""
    topic, holder = clients.topic(), producer("kp-holder")
    write(holder, topic, b"x")
    admin = close(KafkaAdminClient(bootstrap_servers=clients.servers))

    described = admin.describe_transactions(["kp-holder"])["kp-holder"]

    assert described.state.value == "Ongoing"
    assert {(each.topic, each.partition) for each in described.topic_partitions} == {(topic, 0)}
