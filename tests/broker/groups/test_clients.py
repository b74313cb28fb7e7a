"""Consumer groups of unmodified clients rebalance on the embedded broker as on a real Kafka."""

from __future__ import annotations

import itertools
import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from broker.groups.consumers import WAIT, Confluent, poll, shared, until
from broker.groups.group_requests import HEARTBEAT, JOIN, LEAVE, SYNC, Raw
from eosfw_memory.common.codes import Code

pytestmark = pytest.mark.filterwarnings("ignore:read_text is deprecated:DeprecationWarning")


LONG = {"session_timeout_ms": 60_000}
"""A member that is away for a moment comes back within its session, however busy the machine is."""
EVERYTHING = sorted(b"%d-%d" % each for each in itertools.product(range(4), range(10)))


def test_consumers_share_partitions_and_take_over_those_of_leaving_members(consumer, filled):
    """GRP-02: join, sync, heartbeat, leave; each partition has one owner, each record one reader who commits."""
    first = consumer(filled)
    until(lambda: first.poll() or len(first.seen) == 40)
    first.commit()
    second = consumer(filled)
    until(lambda: shared(first, second))
    assert first.partitions().isdisjoint(second.partitions())

    first.close()
    until(lambda: shared(second))

    assert second.partitions() == {0, 1, 2, 3}
    assert sorted(first.seen) == EVERYTHING
    assert second.seen == []


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


def test_the_kip_848_heartbeat_is_refused_and_the_rest_unlisted(embedded):
    """KIP-848: like a Kafka with the protocol disabled: its heartbeat gets UNSUPPORTED_VERSION."""
    raw = Raw(embedded)

    served = {each["api_key"] for each in raw.ask(18, 0)["api_keys"]}
    reported = raw.ask(
        68, 0, group_id="g", member_id="", member_epoch=0, rebalance_timeout=1_000, topic_partitions=None
    )

    raw.close()
    assert {JOIN, SYNC, HEARTBEAT, LEAVE, 68} <= served
    assert served.isdisjoint({69, 76, 77, 88, 89})
    assert reported["error_code"] == Code.UNSUPPORTED_VERSION
    assert reported["assignment"] is None
