"""DeleteRecords as an ordinary client sees it."""

from __future__ import annotations

import pytest
from confluent_kafka import OFFSET_BEGINNING, KafkaException, Producer, TopicPartition

from ..conftest import WAIT, Clients


def deleted(clients: Clients, topic: str, offset: int) -> int:
    found = clients.admin.delete_records([TopicPartition(topic, 0, offset)])
    return next(iter(found.values())).result(WAIT).low_watermark


def test_readers_start_at_the_offset_of_delete_records(cluster):
    """On the embedded broker and a real Kafka alike: low watermark, what is read, both refusals."""
    clients = Clients(cluster.bootstrap_servers)
    topic, compacted = clients.topic(), clients.topic(**{"cleanup.policy": "compact"})
    made = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for number in range(5):
        made.produce(topic, b"%d" % number)
        made.flush(WAIT)
    assert deleted(clients, topic, 3) == 3
    assert deleted(clients, topic, 1) == 3
    assert clients.values(topic, start=OFFSET_BEGINNING) == [b"3", b"4"]
    with pytest.raises(KafkaException, match="OFFSET_OUT_OF_RANGE"):
        deleted(clients, topic, 6)
    with pytest.raises(KafkaException, match="POLICY_VIOLATION"):
        deleted(clients, compacted, 0)
    assert deleted(clients, topic, -1) == 5
    assert clients.values(topic, start=OFFSET_BEGINNING) == []
