"""What members tell each other has the bytes that other clients read and write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.ids import TopicPartition
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import (
    Subscription,
    decode_assignment,
    encode_assignment,
)

topics = st.text("abc", min_size=1, max_size=3)
partitions = st.frozensets(st.builds(TopicPartition, topics, st.integers(0, 9)))
subscriptions = st.builds(Subscription, st.frozensets(topics), partitions, st.integers(-1, 9))


@given(subscriptions)
def test_a_subscription_comes_back_as_it_was_sent(subscription):
    """KIP-429, KIP-792: topics, owned partitions, generation."""
    assert Subscription.decode(subscription.encode()) == subscription


@given(partitions)
def test_an_assignment_comes_back_as_it_was_sent(assigned):
    """The leader's answer to each member."""
    assert decode_assignment(encode_assignment(assigned)) == assigned


@given(st.binary(max_size=40))
def test_bytes_that_hold_no_message_mean_no_topics_and_no_partitions(noise):
    """A member of another make must not bring down the leader of its group."""
    Subscription.decode(noise)
    decode_assignment(noise)


@pytest.fixture
def kafka_python():
    pytest.importorskip("eosfw_kafka_python.backend").load_library()
    from kafka.protocol.consumer import metadata

    return metadata


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_subscriptions_of_kafka_python_are_read_in_each_version(kafka_python, version):
    """What a version does not have is empty; what this client does not know is passed over."""
    kind = kafka_python.ConsumerProtocolSubscription
    owned = [kind.TopicPartition(topic="t", partitions=[0, 2])]
    sent = kind(
        version=version, topics=["s", "t"], user_data=b"x", owned_partitions=owned, generation_id=7, rack_id="r"
    ).encode()

    read = Subscription.decode(sent)

    assert read.topics == {"s", "t"}
    assert read.owned == ({TopicPartition("t", 0), TopicPartition("t", 2)} if version else frozenset())
    assert read.generation == (7 if version > 1 else -1)


def test_kafka_python_reads_subscriptions_and_assignments(kafka_python):
    """A leader of that make assigns to this member, and the other way round."""
    own = frozenset({TopicPartition("t", 0), TopicPartition("t", 2)})

    read = kafka_python.ConsumerProtocolSubscription.decode(Subscription(frozenset({"t"}), own, 7).encode())
    assigned = kafka_python.ConsumerProtocolAssignment.decode(encode_assignment(own))

    assert list(read.topics) == ["t"]
    assert [(each.topic, list(each.partitions)) for each in read.owned_partitions] == [("t", [0, 2])]
    assert read.generation_id == 7
    assert [(each.topic, list(each.partitions)) for each in assigned.assigned_partitions] == [("t", [0, 2])]
