"""Equal keys meet in equal partitions, whichever language wrote them."""

from __future__ import annotations

from eosfw.records import ProducerBatch
from kip98.lab import WAIT, BackendHarness, record

# What Java's Utils.murmur2 gives for these keys (Kafka's own UtilsTest).
MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
PARTITIONS = 7
EXPECTED = {key: (hashed & 0x7FFFFFFF) % PARTITIONS for key, hashed in MURMUR2.items()}


def test_keyed_records_lie_where_javas_partitioner_puts_them(lab: BackendHarness) -> None:
    """One by one, then as a batch: one key in two partitions would lose its order."""
    topic = lab.topic(partitions=PARTITIONS)
    producer = lab.producer()
    keys = list(MURMUR2)

    producer.begin_transaction()
    for key in keys:
        producer.send(record(topic, b"single", partition=None, key=key))
    producer.send_batch(ProducerBatch(topic, [b"batch"] * len(keys), keys=keys))
    producer.commit_transaction(WAIT)

    rows = lab.rows(topic)
    assert len(rows) == 2 * len(keys)
    assert {row.key: row.partition for row in rows} == EXPECTED


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
