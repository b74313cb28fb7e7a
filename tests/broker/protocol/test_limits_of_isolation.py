"""Cases in which a read_committed reader sees only part of a transaction (CON-03)."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from eosfw_memory.storage.cleaner.retention import retain
from eosfw_memory.storage.log.log_config import LogConfig

from ..conftest import WAIT, Clients
from ..log.log_harness import COMMITTED, NOW, Consumer, Writer, new_log
from ..ready_topics import create, wait_until_decided

ENDINGS = pytest.mark.parametrize("ending", ["commit", "abort"])


@pytest.fixture
def written(cluster):
    """One transaction over two partitions, three records in the first, which ends one way or the other."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})

    def write(ending: str) -> tuple[Clients, str]:
        topic = f"con-03-{uuid.uuid4().hex[:8]}"
        create(admin, cluster.bootstrap_servers, NewTopic(topic, 2, 1))
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": topic, "linger.ms": 0})
        producer.init_transactions(WAIT)
        producer.begin_transaction()
        for value in (b"first", b"second", b"third"):
            producer.produce(topic, value, partition=0)
        producer.produce(topic, b"elsewhere", partition=1)
        producer.flush(WAIT)
        producer.commit_transaction(WAIT) if ending == "commit" else producer.abort_transaction(WAIT)
        wait_until_decided(cluster.bootstrap_servers, topic, 2)
        return Clients(cluster.bootstrap_servers), topic

    return write


@ENDINGS
def test_deleting_records_removes_the_front_of_a_transaction_for_readers(written, ending):
    """CON-03: read_committed is not all-or-nothing; but what was aborted stays hidden, its beginning gone or not."""
    clients, topic = written(ending)
    assert sorted(clients.values(topic, partitions=2)) == (
        [b"elsewhere", b"first", b"second", b"third"] if ending == "commit" else []
    )

    [deleted] = clients.admin.delete_records([TopicPartition(topic, 0, 2)]).values()
    assert deleted.result(WAIT).low_watermark == 2

    left = clients.values(topic, partitions=1, start=2)
    assert left == ([b"third"] if ending == "commit" else [])
    assert clients.values(topic, "read_uncommitted", start=2) == [b"third"]


@ENDINGS
def test_retention_removes_the_front_of_a_transaction_for_readers(ending):
    """CON-03, BRK-07: a segment is dropped when it is old, whatever transaction reaches out of it."""
    log = new_log(LogConfig(segment_bytes=90, retention_ms=1000))
    writer = Writer(log, 7)
    for value in (b"first", b"second", b"third"):
        writer.send(value)
    writer.commit() if ending == "commit" else writer.abort()
    while log.rolled_segments() and log.log_start_offset < 2:
        log.delete_oldest_segment()
    assert log.log_start_offset == 2

    reader = Consumer(log, COMMITTED)
    reader.position = log.log_start_offset
    assert [value for _, value in reader.drain()] == ([b"third"] if ending == "commit" else [])


def test_retention_never_deletes_undecided_records():
    """CON-03: retention may delete a transaction only after its end marker."""
    log = new_log(LogConfig(segment_bytes=90, retention_ms=1000))
    writer = Writer(log, 7)
    for value in (b"first", b"second", b"third"):
        writer.send(value)
    assert retain(log, NOW + 10_000) == 0
    writer.commit()
    assert retain(log, NOW + 10_000) == 3
    assert log.log_start_offset == 3


def test_a_reader_that_begins_in_the_middle_gets_the_rest(written):
    """CON-03: seek; a partition that is not read is missing, too."""
    clients, topic = written("commit")
    assert clients.values(topic, start=1) == [b"second", b"third"]
