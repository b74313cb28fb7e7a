"""Consumer groups of unmodified clients rebalance on the embedded broker as on a real Kafka."""

from __future__ import annotations

import itertools
import uuid

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from broker.groups.consumers import WAIT, Confluent, poll, shared, until
from broker.groups.group_requests import HEARTBEAT, JOIN, LEAVE, SYNC, Raw
from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster

pytestmark = pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")


LONG = {"session_timeout_ms": 60_000}
"""A member that is away for a moment comes back within its session, however busy the machine is."""
EVERYTHING = sorted(b"%d-%d" % each for each in itertools.product(range(4), range(10)))


def share_and_take_over(make):
    """Each partition has one owner, each record one reader who commits; whoever is left has everything."""
    first = make()
    until(lambda: first.poll() or len(first.seen) == 40)
    first.commit()
    second = make()
    until(lambda: shared(first, second))
    assert first.partitions().isdisjoint(second.partitions())
    shares = len(first.partitions()), len(second.partitions())

    first.close()
    until(lambda: shared(second))

    assert second.partitions() == {0, 1, 2, 3}
    assert sorted(first.seen) == EVERYTHING
    assert second.seen == []
    return shares


def test_consumers_share_partitions_and_take_over_those_of_leaving_members(consumer, filled):
    """GRP-02: join, sync, heartbeat, leave."""
    share_and_take_over(lambda: consumer(filled))


@pytest.mark.parametrize("subscribed", ["by name", "by a regular expression"])
def test_members_of_a_consumer_group_share_partitions_and_take_over_those_of_leaving_members(
    cluster, filled, subscribed
):
    """GRP-04: librdkafka's members; the broker makes the assignment."""
    group, topic = f"g-{uuid.uuid4().hex[:8]}", filled if subscribed == "by name" else f"^{filled}$"
    made = []

    def make():
        made.append(Confluent(cluster.bootstrap_servers, group, topic, group_protocol="consumer"))
        return made[-1]

    assert share_and_take_over(make) == (2, 2)
    made[-1].close()


@pytest.mark.parametrize("protocols", [("classic", "consumer"), ("consumer", "classic")], ids=["up", "down"])
def test_a_group_goes_from_one_protocol_to_the_other_member_by_member(cluster, admin, filled, protocols):
    """GRP-02, GRP-04: members of both share it meanwhile; what was committed before counts afterwards."""
    group, turns, made = f"g-{uuid.uuid4().hex[:8]}", iter(protocols), []

    def make():
        made.append(Confluent(cluster.bootstrap_servers, group, filled, group_protocol=next(turns)))
        return made[-1]

    assert share_and_take_over(make) == (2, 2)
    listed = admin.list_consumer_groups().result(WAIT).valid
    assert [each.type.name.lower() for each in listed if each.group_id == group] == [protocols[-1]]
    made[-1].close()


def test_a_rolling_upgrade_loses_no_record_that_is_written_meanwhile(cluster, filled):
    """GRP-02, GRP-04: two members are replaced, one after the other; the last two have committed everything."""
    group, written = f"g-{uuid.uuid4().hex[:8]}", set(EVERYTHING)

    def make(protocol):
        settings = {"group_protocol": protocol, "enable_auto_commit": True}
        return Confluent(cluster.bootstrap_servers, group, filled, **settings)

    every = [make("classic"), make("classic")]
    until(lambda: shared(*every))
    for turn in range(2):
        every.append(make("consumer"))
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        for number, partition in itertools.product(range(5), range(4)):
            written.add(value := b"%d-%d-%d" % (turn, partition, number))
            producer.produce(filled, value, partition=partition)
        assert producer.flush(WAIT) == 0
        every[turn].close()
        staying = every[turn + 1 :]
        until(lambda staying=staying: shared(*staying))
        until(lambda staying=staying: poll(*staying) or written <= {value for one in every for value in one.seen})

    assert {value for one in every for value in one.seen} == written
    for one in staying:
        one.close()
    looking = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group, "log_level": 0})
    committed = looking.committed([TopicPartition(filled, number) for number in range(4)], WAIT)
    looking.close()
    assert {each.offset for each in committed} == {20}


def test_a_static_member_comes_back_to_its_partitions_without_a_rebalance(consumer, filled):
    """KIP-345."""
    one, other = consumer(filled, "one", **LONG), consumer(filled, "other", **LONG)
    until(lambda: shared(one, other))
    before = one.partitions()
    reported = _generation(other)

    one.close()
    back = consumer(filled, "one", **LONG)
    until(lambda: poll(back, other) or back.partitions())

    assert back.partitions() == before
    assert _generation(other) == reported


def _generation(one) -> object:
    if isinstance(one, Confluent):
        return one.client.consumer_group_metadata()
    return one.client.group_metadata()


def test_a_consumer_of_stable_offsets_waits_for_the_transaction(cluster, filled, admin):
    """GRP-03: a new owner waits for pending transactional offsets before it starts."""
    servers, group = cluster.bootstrap_servers, f"g-{uuid.uuid4().hex[:8]}"
    producer = Producer({"bootstrap.servers": servers, "transactional.id": f"x-{group}", "log_level": 0})
    producer.init_transactions(WAIT)
    simple = Consumer({"bootstrap.servers": servers, "group.id": group, "log_level": 0})
    producer.begin_transaction()
    where = [TopicPartition(filled, number, 10 if number else 7) for number in range(4)]
    producer.send_offsets_to_transaction(where, simple.consumer_group_metadata(), WAIT)
    next_holder = Confluent(servers, group, filled)
    until(lambda: next_holder.poll() or len(next_holder.partitions()) == 4)
    for _ in range(5):
        next_holder.poll()
    assert next_holder.seen == []

    producer.commit_transaction(WAIT)
    until(lambda: next_holder.poll() or len(next_holder.seen) == 3)

    assert next_holder.seen == [b"0-7", b"0-8", b"0-9"]
    next_holder.close()
    simple.close()


def test_offsets_of_a_member_of_a_consumer_group_are_committed_in_a_transaction(cluster, filled):
    """GRP-02, GRP-04: with its epoch, which the next epoch makes stale (KIP-447)."""
    servers, group = cluster.bootstrap_servers, f"g-{uuid.uuid4().hex[:8]}"
    one = Confluent(servers, group, filled, group_protocol="consumer")
    until(lambda: one.poll() or len(one.seen) == 40)
    producer = Producer({"bootstrap.servers": servers, "transactional.id": f"x-{group}", "log_level": 0})
    producer.init_transactions(WAIT)
    read = [TopicPartition(filled, number, 10) for number in range(4)]
    before = one.client.consumer_group_metadata()
    producer.begin_transaction()
    producer.send_offsets_to_transaction(read, before, WAIT)
    producer.commit_transaction(WAIT)
    assert [each.offset for each in one.client.committed(read, WAIT)] == [10] * 4

    other = Confluent(servers, group, filled, group_protocol="consumer")
    until(lambda: shared(one, other))
    producer.begin_transaction()
    with pytest.raises(KafkaException) as refused:
        producer.send_offsets_to_transaction(read, before, WAIT)

    assert refused.value.args[0].txn_requires_abort()
    producer.abort_transaction(WAIT)
    one.close()
    other.close()


def test_a_member_of_a_consumer_group_goes_on_after_a_restart_of_the_broker():
    """GRP-05: in its epoch, with its partitions, without a rebalance."""
    cluster = EmbeddedCluster.start({"group.consumer.heartbeat.interval.ms": "50"}, ThreadRuntime())
    cluster.broker.topics.create("t", 2, {})
    one = Confluent(cluster.bootstrap_servers, "g", "t", group_protocol="consumer")
    until(lambda: one.poll() or len(one.partitions()) == 2)
    before = cluster.broker.groups.group("g")

    cluster.broker.restart()
    after = cluster.broker.groups.group("g")
    until(lambda: one.poll() or after.topics_version >= 0)  # it has sent a heartbeat
    one.client.commit(offsets=[TopicPartition("t", 0, 0)], asynchronous=False)

    assert after is not before
    assert (after.epoch, after.members) == (before.epoch, before.members)
    assert one.revoked == set()
    one.close()
    cluster.close()


def test_the_requests_of_consumer_groups_are_advertised_and_those_of_others_not(embedded):
    """GRP-04: with the feature that tells of them; groups of shares and of streams are not served."""
    raw = Raw(embedded)

    answer = raw.ask(18, 4, client_software_name="raw", client_software_version="1")

    raw.close()
    served = {each["api_key"] for each in answer["api_keys"]}
    levels = {each["name"]: each["max_version_level"] for each in answer["finalized_features"]}
    assert {JOIN, SYNC, HEARTBEAT, LEAVE, 68, 69} <= served
    assert served.isdisjoint({76, 77, 88, 89})
    assert levels["group.version"] == 1
