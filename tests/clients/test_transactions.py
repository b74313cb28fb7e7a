"""`kafka-transactions` finds and aborts the transaction that blocks a partition (KIP-664, COR-18)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from eosfw.ids import ProducerIdAndEpoch
from eosfw.ids import TopicPartition as Where
from eosfw_memory.cluster import served_here
from eosfw_memory.storage.records.codec import encode_batch

WAIT = 30.0
NOBODY = ProducerIdAndEpoch(987_654_321, 0)
"""A producer that no coordinator knows: what a coordinator's bug leaves behind."""


def table(output) -> list[dict[str, str]]:
    """What a tool has printed in columns."""
    header, *rows = (line.split("\t") for line in output.out.splitlines() if "\t" in line)
    names = [name.strip() for name in header]
    return [dict(zip(names, (cell.strip() for cell in row), strict=True)) for row in rows]


@pytest.fixture
def open_transaction(embedded, topic) -> Iterator[str]:
    """A topic with an open transaction, whose transactional id is the topic's name."""
    name = topic()
    # Longer than three programs in Java take on a busy machine.
    lasting = {"transaction.timeout.ms": 900_000}
    producer = Producer({"bootstrap.servers": embedded, "transactional.id": name, **lasting})
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    producer.produce(name, b"undecided", partition=0)
    producer.flush(WAIT)
    yield name
    producer.abort_transaction(WAIT)


def test_an_open_transaction_is_listed_described_traced_to_its_partition(tool, open_transaction):
    """From the id to the producer, from the partition to the same producer."""
    listed = {row["TransactionalId"]: row for row in table(tool("kafka-transactions", "list"))}
    (described,) = table(tool("kafka-transactions", "describe", "--transactional-id", open_transaction))
    where = ("--topic", open_transaction, "--partition", 0)
    (producer,) = table(tool("kafka-transactions", "describe-producers", *where))

    assert listed[open_transaction]["TransactionState"] == described["TransactionState"] == "Ongoing"
    assert described["TopicPartitions"] == f"{open_transaction}-0"
    assert described["ProducerId"] == listed[open_transaction]["ProducerId"] == producer["ProducerId"]
    assert described["ProducerEpoch"] == producer["ProducerEpoch"]
    assert producer["CurrentTransactionStartOffset"] == "0"


def test_a_transaction_is_listed_by_how_long_it_is_open(tool, open_transaction):
    """KIP-994: `--duration-filter` leaves out younger transactions."""
    young = table(tool("kafka-transactions", "list", "--duration-filter", 3_600_000))
    every = table(tool("kafka-transactions", "list", "--duration-filter", 0))

    assert open_transaction not in {row["TransactionalId"] for row in young}
    assert open_transaction in {row["TransactionalId"] for row in every}


def test_a_transaction_its_coordinator_knows_is_not_called_hanging(tool, open_transaction):
    """However long it takes, its coordinator will end it."""
    output = tool("kafka-transactions", "find-hanging", "--topic", open_transaction, "--max-transaction-timeout", 0)

    assert table(output) == []


def test_a_hanging_transaction_is_found_then_aborted_so_readers_go_on(tool, topic, embedded, fresh):
    """An operator frees a partition that no coordinator will."""
    name = topic()
    partition = served_here(embedded).broker.topics.partition(name, 0)
    an_hour_ago = int(time.time() * 1000) - 3_600_000
    batch = encode_batch(None, [b"left behind"], an_hour_ago, producer=NOBODY, base_sequence=0, transactional=True)
    partition.log.append(batch, an_hour_ago)
    assert partition.log.last_stable_offset == 0

    (found,) = table(tool("kafka-transactions", "find-hanging", "--broker-id", 1, "--topic", name))
    where = ("--topic", name, "--partition", 0)
    tool("kafka-transactions", "abort", *where, "--start-offset", found["StartOffset"])
    left = table(tool("kafka-transactions", "find-hanging", "--topic", name))

    assert (found["Topic"], found["Partition"], found["ProducerId"]) == (name, "0", str(NOBODY.producer_id))
    assert left == []
    producer = Producer({"bootstrap.servers": embedded})
    producer.produce(name, b"after", partition=0)
    producer.flush(WAIT)
    assert read_committed(embedded, Where(name, 0), fresh("group")) == b"after"


def test_an_open_transaction_is_aborted_by_an_operator(tool, topic, open_transaction, embedded, fresh):
    """By where it starts: what it wrote reaches no reader, what comes later does."""
    where = ("--topic", open_transaction, "--partition", 0)

    tool("kafka-transactions", "abort", *where, "--start-offset", 0)

    producer = Producer({"bootstrap.servers": embedded})
    producer.produce(open_transaction, b"after", partition=0)
    producer.flush(WAIT)
    assert read_committed(embedded, Where(open_transaction, 0), fresh("group")) == b"after"


def read_committed(servers: str, where: Where, group: str) -> bytes | None:
    """The first committed record of a partition."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(where.topic, where.partition, 0)])
    try:
        message = consumer.poll(WAIT)
        return None if message is None else message.value()
    finally:
        consumer.close()
