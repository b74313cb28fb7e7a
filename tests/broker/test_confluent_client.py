"""Unmodified confluent-kafka meets the embedded broker as it would meet Kafka."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import ConfigResource, NewTopic, ResourceType

WAIT = 20.0


def write(producer, topic, *values, partition=0):
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=partition)
    producer.flush(WAIT)


def test_committed_records_are_read_in_order(clients):
    """CON-01, PRD-04."""
    topic, producer = clients.topic(), clients.producer()

    for number in range(5):
        write(producer, topic, b"%d-a" % number, b"%d-b" % number)
        producer.commit_transaction(WAIT)

    assert clients.values(topic) == [b"%d-%s" % (n, c) for n in range(5) for c in (b"a", b"b")]


def test_aborted_records_are_seen_by_read_uncommitted_alone(clients):
    """CON-01, CON-02, BRK-07."""
    topic, producer = clients.topic(), clients.producer()
    write(producer, topic, b"kept")
    producer.commit_transaction(WAIT)
    write(producer, topic, b"dropped")
    producer.abort_transaction(WAIT)
    write(producer, topic, b"kept too")
    producer.commit_transaction(WAIT)

    assert clients.values(topic) == [b"kept", b"kept too"]
    assert clients.values(topic, "read_uncommitted") == [b"kept", b"dropped", b"kept too"]


def test_records_behind_an_open_transaction_are_held_back(clients):
    """BRK-06, CON-01."""
    topic, slow, quick = clients.topic(), clients.producer(), clients.producer()
    write(slow, topic, b"slow")
    write(quick, topic, b"quick")
    quick.commit_transaction(WAIT)

    assert clients.values(topic) == []
    assert clients.values(topic, "read_uncommitted") == [b"slow", b"quick"]

    slow.commit_transaction(WAIT)
    assert clients.values(topic) == [b"slow", b"quick"]


def test_the_cluster_names_the_producer_that_blocks_a_partition(clients, served, until):
    """COR-18: a commit is answered once it is decided, so its markers may take a moment more (COR-09)."""
    topic, producer = clients.topic(2), clients.producer("holder")
    write(producer, topic, b"x", partition=1)

    (found,) = [each for each in served.open_transactions() if each.partition.topic == topic]
    assert (found.transactional_id, found.partition, found.first_offset) == ("holder", (topic, 1), 0)
    assert found.age >= 0

    producer.commit_transaction(WAIT)
    until(lambda: [each for each in served.open_transactions() if each.partition.topic == topic] == [])


def test_a_second_producer_of_the_id_fences_the_first(clients):
    """COR-03, BRK-01: whatever the zombie left open is aborted, and it can neither commit nor begin again."""
    topic, zombie = clients.topic(), clients.producer("one-id")
    write(zombie, topic, b"zombie")

    next_holder = clients.producer("one-id")

    with pytest.raises(KafkaException) as caught:
        zombie.commit_transaction(WAIT)
    assert (caught.value.args[0].code(), caught.value.args[0].fatal()) == (KafkaError._FENCED, True)
    write(next_holder, topic, b"heir")
    next_holder.commit_transaction(WAIT)
    assert clients.values(topic) == [b"heir"]


def test_a_fenced_producer_cannot_write_into_its_successors_transaction(clients):
    """BRK-01."""
    topic, zombie = clients.topic(), clients.producer("shared-id")
    write(zombie, topic, b"before")
    next_holder = clients.producer("shared-id")
    write(next_holder, topic, b"heir")

    zombie.produce(topic, b"after", partition=0)
    with pytest.raises(KafkaException, match="old epoch"):
        zombie.flush(WAIT)
    next_holder.commit_transaction(WAIT)

    assert clients.values(topic) == [b"heir"]


def test_a_transaction_beyond_its_timeout_is_aborted_and_its_producer_fenced(clients, served, until):
    """COR-15."""
    topic, late = clients.topic(), clients.producer("late-one", **{"transaction.timeout.ms": 60_000})
    write(late, topic, b"late")

    served.broker.jump(61)
    until(lambda: "late-one" not in [each.transactional_id for each in served.open_transactions()])

    with pytest.raises(KafkaException) as caught:
        late.commit_transaction(WAIT)
    assert caught.value.args[0].code() == KafkaError._FENCED
    assert clients.values(topic) == []
    assert clients.values(topic, "read_uncommitted") == [b"late"]


def test_a_timeout_above_the_brokers_maximum_is_refused(clients):
    """COR-02."""
    producer = Producer(
        {
            "bootstrap.servers": clients.servers,
            "transactional.id": "too-long",
            "transaction.timeout.ms": 900_001,
            "message.timeout.ms": 900_001,
            "log_level": 0,
        }
    )

    with pytest.raises(KafkaException) as caught:
        producer.init_transactions(WAIT)
    assert caught.value.args[0].code() == KafkaError.INVALID_TRANSACTION_TIMEOUT


def test_topics_are_created_described_deleted(clients):
    topic = clients.topic(3, **{"cleanup.policy": "compact"})
    (described,) = clients.admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()

    assert len(clients.admin.list_topics(topic, WAIT).topics[topic].partitions) == 3
    assert described.result(WAIT)["cleanup.policy"].value == "compact"

    clients.admin.delete_topics([topic])[topic].result(WAIT)
    assert topic not in clients.admin.list_topics(timeout=WAIT).topics


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (NewTopic("twice", 1, 1), KafkaError.TOPIC_ALREADY_EXISTS),
        (NewTopic("b/d", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("none", 0, 1), KafkaError.INVALID_PARTITIONS),
        (NewTopic("copies", 1, 3), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic("odd", 1, 1, config={"cleanup.policy": "burn"}), KafkaError.INVALID_CONFIG),
        (NewTopic("typo", 1, 1, config={"retention.sm": "1"}), KafkaError.INVALID_CONFIG),
    ],
)
def test_impossible_topics_are_refused_with_kafkas_code(clients, new, code):
    clients.admin.create_topics([NewTopic("twice", 1, 1)])["twice"].exception(WAIT)

    with pytest.raises(KafkaException) as caught:
        clients.admin.create_topics([new])[new.topic].result(WAIT)

    assert caught.value.args[0].code() == code


def test_the_broker_tells_its_longest_transaction_timeout(clients):
    (described,) = clients.admin.describe_configs([ConfigResource(ResourceType.BROKER, "1")]).values()

    assert described.result(WAIT)["transaction.max.timeout.ms"].value == "900000"


def test_a_topic_is_created_on_first_write(clients):
    topic, producer = "made-by-writing", clients.producer()
    write(producer, topic, b"first")
    producer.commit_transaction(WAIT)

    assert clients.values(topic) == [b"first"]
