"""A restart restores the whole state, even if the default number of partitions changed."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, TopicPartition

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster

from ..brokers import durable_transactions
from ..conftest import WAIT, Clients

FSYNC = {"log.flush.interval.messages": "1"}


def started(root, **properties):
    return EmbeddedCluster.start({"log.dirs": str(root), **properties}, ThreadRuntime())


def consumer(servers):
    settings = {"group.id": "readers", "enable.auto.commit": False, "auto.offset.reset": "earliest", "log_level": 0}
    return Consumer({"bootstrap.servers": servers, **settings})


@pytest.mark.parametrize("flush", [{}, FSYNC], ids=["os", "fsync"])
def test_transactions_and_offsets_of_groups_survive(tmp_path, until, flush):
    """GRP-01, COR-13, COR-14: committed with a transaction, committed by a consumer, still open."""
    cluster = started(tmp_path, **flush)
    clients = Clients(cluster.bootstrap_servers)
    topic = clients.topic()
    writer, holder = clients.producer("writer"), clients.producer("holder")
    reader = consumer(clients.servers)
    writer.begin_transaction()
    for number in range(4):
        writer.produce(topic, b"%d" % number)
    reader.subscribe([topic])
    reader.poll(0)
    until(lambda: reader.poll(0.1) is None and bool(reader.assignment()))
    writer.send_offsets_to_transaction([TopicPartition(topic, 0, 3)], reader.consumer_group_metadata())
    writer.commit_transaction(WAIT)
    holder.begin_transaction()
    holder.produce(topic, b"open")
    holder.flush(WAIT)
    until(lambda: cluster.broker.coordinator.markers.is_empty)
    before, kept_in = durable_transactions(cluster.broker), cluster.broker.offsets_partition("readers")
    reader.close()
    cluster.close()

    again = started(
        tmp_path, **flush, **{"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}
    )
    assert durable_transactions(again.broker) == before
    assert again.broker.offsets_partition("readers") == kept_in
    clients = Clients(again.bootstrap_servers)
    reader = consumer(clients.servers)
    found = reader.committed([TopicPartition(topic, 0)], WAIT)
    assert [each.offset for each in found] == [3]
    reader.close()
    assert clients.values(topic) == [b"0", b"1", b"2", b"3"]
    assert clients.values(topic, "read_uncommitted")[-1] == b"open"
    clients.producer("holder")
    until(lambda: not again.open_transactions())
    again.close()
