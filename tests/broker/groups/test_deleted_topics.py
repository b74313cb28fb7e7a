"""Deleting a topic deletes the committed offsets of its partitions."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import NewTopic

from broker.groups.group_requests import WAIT, members, offsets
from broker.groups.test_transactional_offsets import Producer, committed, plainly, settled
from broker.ready_topics import create
from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code

NOTHING = -1


@pytest.fixture
def group(cluster):
    with members(cluster.bootstrap_servers) as make:
        yield make()


def delete(admin, topic):
    admin.delete_topics([topic])[topic].result(WAIT)
    while topic in admin.list_topics(timeout=WAIT).topics:
        """A real Kafka tells its brokers one by one."""


def test_a_topic_created_anew_has_no_committed_offsets(admin, cluster, new_topic, group):
    """GRP-01: else a consumer of the new topic would pass over its first records."""
    topic, other = new_topic(), new_topic()
    assert plainly(group, topic, 5) == Code.NONE
    assert plainly(group, other, 7) == Code.NONE

    delete(admin, topic)
    create(admin, cluster.bootstrap_servers, NewTopic(topic, 1, 1))

    assert committed(group, topic) == NOTHING
    assert committed(group, other) == 7


def test_a_transaction_commits_no_offset_of_a_topic_that_was_deleted_meanwhile(admin, cluster, new_topic, group):
    """GRP-01, GRP-03: nor does one hold its successor's offset back."""
    topic, other = new_topic(), new_topic()
    producer = Producer(cluster.bootstrap_servers)
    assert producer.add(group.group) == Code.NONE
    for each in (topic, other):
        assert producer.commit_offsets(group.group, offsets(each, p0=5)) == Code.NONE

    delete(admin, topic)
    create(admin, cluster.bootstrap_servers, NewTopic(topic, 1, 1))
    assert committed(group, topic) == NOTHING
    assert plainly(group, topic, 1) == Code.NONE
    assert producer.end(commit=True) == Code.NONE
    producer.raw.close()

    assert settled(group, other) == 5
    assert settled(group, topic) == 1


class Stopped(Exception):  # noqa: N818
    """Raised to end the broker between two writes."""


@pytest.mark.parametrize("stopped", [False, True], ids=["clean", "between the topic and its offsets"])
def test_offsets_of_a_deleted_topic_do_not_come_back_with_a_restart(tmp_path, monkeypatch, stopped):
    """GRP-01."""

    def started():
        return EmbeddedCluster.start({"log.dirs": str(tmp_path)}, ThreadRuntime())

    cluster = started()
    broker = cluster.broker
    topic = broker.topics.create("t", 1, {})
    with members(cluster.bootstrap_servers) as make:
        group = make()
        name = group.group
        assert plainly(group, "t", 5) == Code.NONE
    if stopped:
        monkeypatch.setattr(broker.groups, "on_topics_deleted", _stop)
        with pytest.raises(Stopped):
            broker.delete_topic(topic)
    else:
        broker.delete_topic(topic)
    cluster.close()

    again = started()
    again.broker.topics.create("t", 1, {})
    with members(again.bootstrap_servers) as make:
        group = make()
        group.group = name
        assert committed(group, "t") == NOTHING
    again.close()


def _stop(*_):
    raise Stopped
