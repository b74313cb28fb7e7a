"""Deleting a topic deletes the committed offsets of its partitions."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import NewTopic

from broker.brokers import started
from broker.groups.group_requests import WAIT
from broker.groups.test_transactional_offsets import Transactions, committed
from broker.ready_topics import create
from conformance.calls import Caller, commit_plain
from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.groups.group_records import Committed
from eosfw_memory.server.coordinators.groups.offset_requests import OffsetCommitter

NOTHING = -1


def create_again(admin, cluster, topic):
    admin.delete_topics([topic])[topic].result(WAIT)
    while topic in admin.list_topics(timeout=WAIT).topics:
        """A real Kafka tells its brokers one by one."""
    create(admin, cluster.bootstrap_servers, NewTopic(topic, 1, 1))


def test_a_topic_created_anew_has_no_committed_offsets(admin, cluster, new_topic, caller):
    """GRP-01: else a consumer of the new topic would pass over its first records."""
    topic, other = TopicPartition(new_topic(), 0), TopicPartition(new_topic(), 0)
    group = f"g-{topic.topic}"
    assert commit_plain(caller, group, topic, 5).code is Code.NONE
    assert commit_plain(caller, group, other, 7).code is Code.NONE

    create_again(admin, cluster, topic.topic)

    assert committed(caller, group, topic) == NOTHING
    assert committed(caller, group, other) == 7


def test_a_transaction_commits_no_offset_of_a_topic_that_was_deleted_meanwhile(admin, cluster, new_topic, caller):
    """GRP-01, GRP-03: nor does one hold its successor's offset back."""
    topic, other = TopicPartition(new_topic(), 0), TopicPartition(new_topic(), 0)
    group, transactions = f"g-{topic.topic}", Transactions(caller)
    for each in (topic, other):
        transactions.commit(group, each, 5)

    create_again(admin, cluster, topic.topic)
    assert committed(caller, group, topic) == NOTHING
    assert commit_plain(caller, group, topic, 1).code is Code.NONE
    transactions.end(commit=True)

    assert committed(caller, group, other) == 5
    assert committed(caller, group, topic) == 1


@pytest.mark.parametrize("end", ["topic", "group", "retention"])
def test_offsets_go_however_many_a_group_has(end):
    """KAFKA-13099: their tombstones do not fit in one batch of the log."""
    broker, topic, group = started(), "t" * 249, "g" * 200
    places = [TopicPartition(topic, number) for number in range(4000)]
    for first in range(0, len(places), 1000):
        offsets = dict.fromkeys(places[first : first + 1000], Committed(7, -1, "", broker.now_ms()))
        broker.groups.offsets.commit(group, OffsetCommitter(), offsets, broker.now_ms())

    if end == "topic":
        broker.groups.on_topics_deleted(lambda name: name == topic, broker.now_ms())
    elif end == "group":
        assert broker.groups.delete(group, broker.now_ms()) is Code.NONE
    else:
        broker.groups.expire_offsets(broker.now_ms() + 604_800_000)

    assert broker.groups.offsets.fetch(group, None, stable=False) == {}
    broker.restart()
    assert broker.groups.offsets.fetch(group, None, stable=False) == {}
    broker.close()


class Stopped(Exception):  # noqa: N818
    """Raised to end the broker between two writes."""


@pytest.mark.parametrize("stopped", [False, True], ids=["clean", "between the topic and its offsets"])
def test_offsets_of_a_deleted_topic_do_not_come_back_with_a_restart(tmp_path, monkeypatch, stopped):
    """GRP-01."""
    properties, where = {"log.dirs": str(tmp_path)}, TopicPartition("t", 0)
    cluster = EmbeddedCluster.start(properties, ThreadRuntime())
    broker, caller = cluster.broker, Caller(cluster.bootstrap_servers)
    topic = broker.topics.create("t", 1, {})
    assert commit_plain(caller, "g", where, 5).code is Code.NONE
    caller.close()
    if stopped:
        monkeypatch.setattr(broker.groups, "on_topics_deleted", _stop)
        with pytest.raises(Stopped):
            broker.delete_topic(topic)
    else:
        broker.delete_topic(topic)
    cluster.close()

    again = EmbeddedCluster.start(properties, ThreadRuntime())
    again.broker.topics.create("t", 1, {})
    caller = Caller(again.bootstrap_servers)
    assert committed(caller, "g", where) == NOTHING
    caller.close()
    again.close()


def _stop(*_):
    raise Stopped
