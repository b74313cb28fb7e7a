"""Records without a key are spread over the partitions."""

from __future__ import annotations

from eosfw.records import ProducerBatch
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness


def test_records_without_key_use_more_than_one_partition_over_time(lab: BackendHarness) -> None:
    """A batch may stick to one partition, a producer does not for ever.

    librdkafka draws a partition anew every 10 ms, at random: a hundred transactions leave room for many draws.
    """
    topic = lab.topic(partitions=3)
    producer = lab.producer()
    for _ in range(100):
        producer.begin_transaction()
        producer.send_batch(ProducerBatch(topic, [b"v"]))
        producer.commit_transaction(WAIT)

    rows = lab.rows(topic)

    assert len(rows) == 100
    assert len({row.partition for row in rows}) > 1
