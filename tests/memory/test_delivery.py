"""Records arrive once and in order despite refusals, lost responses and moving coordinators."""

from __future__ import annotations

import threading

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from tests.memory.conftest import NO_NEW_TOPICS, RUNTIME, counted

from eosfw.errors import (
    AbortableError,
    EosfwError,
    IllegalStateError,
    UnknownTopicOrPartitionError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, NewTopic
from eosfw.records import OffsetRange, ProducerBatch
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Delay, Fail
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness, commit, record


@pytest.mark.parametrize("code", ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "CONCURRENT_TRANSACTIONS"])
@pytest.mark.parametrize("request_", ["InitProducerId", "EndTxn"])
def test_a_coordinator_that_moved_or_is_busy_is_asked_again(
    direct: BackendHarness, own: EmbeddedCluster, request_: str, code: str
) -> None:
    """PRD-08."""
    topic, searches = direct.topic(), counted(own, "FindCoordinator")
    refused = own.faults.add(Fail(request_, code=code, times=2))

    commit(direct.producer(), topic, b"v")

    assert direct.values(topic) == [b"v"]
    assert len(refused.firings) == 2
    assert len(searches.firings) == (3 if code == "NOT_COORDINATOR" else 1)


def test_a_read_goes_on_after_a_broker_that_had_yet_to_learn_of_its_topic(
    own: EmbeddedCluster, by_transport: BackendHarness
) -> None:
    """LogReader: as one that has just started may."""
    topic = by_transport.topic()
    by_transport.write(topic, b"a", b"b")
    reader = by_transport.backend.reader(COMMITTED, properties={"max.partition.fetch.bytes": "1"})
    batches = reader.read({TopicPartition(topic, 0): OffsetRange(0, 3)}, WAIT)
    found = [*next(batches).values]
    RUNTIME.sleep(2.5)  # longer than a new topic takes to become known everywhere
    own.faults.add(Fail("Fetch", code="UNKNOWN_TOPIC_OR_PARTITION"))
    by_transport.write(topic, b"c")

    found += [value for batch in batches for value in batch.values]

    assert found == [b"a", b"b", b"c"]


@pytest.mark.parametrize(("max_age", "partitions"), [("1", {0, 1, 2, 3}), ("300000", {0})])
def test_a_producer_writes_to_partitions_that_are_added_once_its_metadata_is_too_old(
    direct: BackendHarness, own: EmbeddedCluster, max_age: str, partitions: set[int]
) -> None:
    """As Java's producer with `metadata.max.age.ms`."""
    topic = direct.topic()
    producer = direct.backend.producer(None, properties={"metadata.max.age.ms": max_age})
    producer.send_batch(ProducerBatch(topic, [b"v"], keys=[b"key"]))
    producer.flush(WAIT)

    admin = AdminClient({"bootstrap.servers": own.bootstrap_servers})
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(WAIT)
    producer.send_batch(ProducerBatch(topic, [b"v"] * 40, keys=[b"%d" % number for number in range(40)]))
    producer.flush(WAIT)

    ends = direct.admin.end_offsets([TopicPartition(topic, number) for number in range(4)], UNCOMMITTED)
    assert {one.partition for one, end in ends.items() if end} == partitions


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_producer_writes_to_a_topic_that_was_created_again_with_fewer_partitions(
    direct: BackendHarness, version: str
) -> None:
    """As Java's producer, which looks up the partitions of a topic that a broker does not know any more."""
    topic = direct.topic(partitions=4)
    given = {"eosfw.transaction.version": version, "max.block.ms": "500"}
    producer = direct.producer(properties=given)
    keys: list[bytes | None] = [b"%d" % number for number in range(40)]
    producer.begin_transaction()
    producer.send_batch(ProducerBatch(topic, [b"v"] * 40, keys=keys))
    producer.commit_transaction(WAIT)
    direct.admin.delete_topics([topic])
    direct.admin.create_topics([NewTopic(topic, partitions=1)])

    producer.begin_transaction()
    producer.send_batch(ProducerBatch(topic, [b"v"] * 40, keys=keys))
    with pytest.raises(UnknownTopicOrPartitionError):
        producer.commit_transaction(1.0)
    producer.abort_transaction(WAIT)
    producer.begin_transaction()
    producer.send_batch(ProducerBatch(topic, [b"v"] * 40, keys=keys))
    producer.commit_transaction(WAIT)

    assert len(direct.values(topic)) == 40


@NO_NEW_TOPICS
@pytest.mark.parametrize("what", ["records", "offsets"])
def test_a_transaction_of_version_1_fails_at_once_when_its_topic_is_deleted(
    by_transport: BackendHarness, what: str
) -> None:
    """The coordinator says that it does not know the topic, which passes only where that is new."""
    lab = by_transport
    topic, producer = lab.topic(), lab.producer(properties={"eosfw.transaction.version": "1"})
    commit(producer, topic, b"before")
    lab.admin.delete_topics([topic])

    def write() -> None:
        if what == "offsets":
            producer.send_offsets({TopicPartition(topic, 0): 1}, ConsumerGroupMetadata(lab.group()), WAIT)
        producer.send(record(topic, b"behind"))
        producer.commit_transaction(WAIT)

    began = RUNTIME.now()
    producer.begin_transaction()
    with pytest.raises(UnknownTopicOrPartitionError):
        write()

    assert RUNTIME.now() - began < WAIT / 2
    producer.abort_transaction(WAIT)
    kept = lab.topic()
    commit(producer, kept, b"after")
    assert lab.values(kept) == [b"after"]


@pytest.mark.parametrize(("version", "requests"), [("1", 4), ("2", 0)])
def test_partitions_are_added_once_for_each_transaction(
    direct: BackendHarness, own: EmbeddedCluster, version: str, requests: int
) -> None:
    """PRD-03: by a request, or by the first batch (KIP-890)."""
    topic, added = direct.topic(partitions=2), counted(own, "AddPartitionsToTxn")
    producer = direct.producer(properties={"eosfw.transaction.version": version})
    for _ in range(2):
        producer.begin_transaction()
        for number in range(6):
            producer.send_batch(ProducerBatch(topic, [b"v"], partition=number % 2))
        producer.commit_transaction(WAIT)

    assert len(added.firings) == requests
    assert len(direct.values(topic)) == 12


def test_large_batches_are_cut_and_keep_their_order_and_every_column(lab: BackendHarness) -> None:
    """Batches are as large as brokers take by default."""
    topic, producer = lab.topic(), lab.producer()
    values = [b"%06d" % number + b"x" * (number % 700) for number in range(7000)]
    headers = [(("n", b"%d" % number),) for number in range(7000)]
    stamps = list(range(1_700_000_000_000, 1_700_000_007_000))
    producer.begin_transaction()
    producer.send_batch(ProducerBatch(topic, values, [b"k"] * 7000, 0, stamps, headers))
    producer.commit_transaction(WAIT)

    reader = lab.backend.reader(COMMITTED, headers=True)
    batches = list(reader.read(lab.ranges(topic, UNCOMMITTED), WAIT))

    assert [value for batch in batches for value in batch.values] == values
    assert [pairs for batch in batches for pairs in batch.headers or ()] == headers
    assert [stamp for batch in batches for stamp in batch.timestamps] == stamps


def test_records_of_many_partitions_wait_in_no_more_than_the_buffer(lab: BackendHarness) -> None:
    """`buffer.memory`: no partition has a batch yet, and all of them together have more than may wait."""
    topic, producer = lab.topic(partitions=20), lab.producer(properties={"buffer.memory": "100000"})
    heard: list[int] = []
    producer.begin_transaction()

    for number in range(300):
        one = record(topic, b"%01000d" % number, partition=number % 20)
        producer.send(one, lambda place, _: heard.append(place.partition if place else -1))

    assert 200 <= len(heard) <= 300
    producer.commit_transaction(WAIT)
    assert sorted(heard) == sorted(number % 20 for number in range(300))
    assert len(lab.values(topic)) == 300


def test_single_records_and_batches_of_one_partition_keep_their_order(lab: BackendHarness) -> None:
    """TransactionalProducer: records of one sender and partition keep their order."""
    topic, producer = lab.topic(), lab.producer()
    sent: list[bytes] = []
    producer.begin_transaction()
    for size in (1, 600, 3, 2500, 1, 499, 500):
        values = [b"%d-%d" % (size, number) for number in range(size)]
        sent += [*values, b"single"]
        producer.send_batch(ProducerBatch(topic, values, partition=0))
        producer.send(record(topic, b"single"))
    producer.commit_transaction(WAIT)

    assert lab.values(topic) == sent


def test_a_read_of_many_partitions_ends_only_when_each_is_read(lab: BackendHarness) -> None:
    """LogReader: no partition is starved by others."""
    topic = lab.topic(partitions=5)
    for partition in range(5):
        lab.write(topic, *[b"x" * 500] * 3000, partition=partition)
    reader = lab.backend.reader(COMMITTED, properties={"fetch.max.bytes": "65536", "max.partition.fetch.bytes": "4096"})

    counts: dict[int, int] = {}
    for batch in reader.read({TopicPartition(topic, n): OffsetRange(10, 2990) for n in range(5)}, WAIT):
        counts[batch.partition] = counts.get(batch.partition, 0) + len(batch)

    assert counts == dict.fromkeys(range(5), 2980)


@pytest.mark.parametrize("by_transport", ["socket"], indirect=True)
def test_records_dropped_by_an_abort_are_reported_as_dropped(by_transport: BackendHarness) -> None:
    """PRD-04: over a socket nothing has left before."""
    topic, producer = by_transport.topic(), by_transport.producer()
    reported: list[EosfwError | None] = []
    producer.begin_transaction()
    producer.send(record(topic, b"v"), lambda _, why: reported.append(why))
    producer.abort_transaction(WAIT)

    assert [type(why) for why in reported] == [AbortableError]
    assert by_transport.end(topic, UNCOMMITTED) == 0


@pytest.mark.parametrize("transactional", [True, False])
def test_records_dropped_by_a_close_are_reported_as_dropped(
    by_transport: BackendHarness, *, transactional: bool
) -> None:
    """PRD-07: whoever waits for the callback of a record waits no longer."""
    topic = by_transport.topic()
    producer = by_transport.producer() if transactional else by_transport.backend.producer(None)
    reported: list[EosfwError | None] = []
    if transactional:
        producer.begin_transaction()
    producer.send(record(topic, b"a"))  # the first of a transaction may be delivered at once

    producer.send(record(topic, b"b"), lambda _, why: reported.append(why))
    producer.close()

    assert [type(why) for why in reported] == [AbortableError]


def test_a_close_reports_records_that_another_thread_delivers_in_vain(
    by_transport: BackendHarness, own: EmbeddedCluster
) -> None:
    """PRD-07: its call ends, and then nobody would deliver them."""
    topic, producer = by_transport.topic(), by_transport.backend.producer(None)
    reported: list[EosfwError | None] = []
    refused = own.faults.add(Fail("Produce", code="NOT_LEADER_OR_FOLLOWER", times=10_000))
    producer.send(record(topic, b"a"), lambda _, why: reported.append(why))

    def flush() -> None:
        with pytest.raises(EosfwError):
            producer.flush(WAIT)

    flushing = threading.Thread(target=flush)
    flushing.start()
    while not refused.firings:
        RUNTIME.sleep(0.01)
    producer.close()
    flushing.join(WAIT)

    assert [type(why) for why in reported] == [AbortableError]


def test_a_transaction_without_records_commits_though_the_cluster_is_gone(
    own: EmbeddedCluster, by_transport: BackendHarness
) -> None:
    """TXN-17, PRD-04: an empty transaction needs no request."""
    producer = by_transport.producer()
    own.close()

    producer.begin_transaction()
    producer.commit_transaction(0.0)
    with pytest.raises(IllegalStateError):  # no transaction is left that a second commit could end
        producer.commit_transaction(0.0)


def test_a_thread_looks_up_a_topic_while_another_one_waits_for_its_records(
    own: EmbeddedCluster, by_transport: BackendHarness
) -> None:
    """TransactionalProducer: many threads may send, and a broker has one connection."""
    first, second = by_transport.topic(), by_transport.topic()
    producer = by_transport.producer()
    producer.begin_transaction()
    delayed = own.faults.add(Delay("Produce", seconds=0.5))
    producer.send_batch(ProducerBatch(first, [b"a"]))
    flushing = RUNTIME.spawn("flushing", lambda: producer.flush(WAIT))
    while not delayed.firings:
        RUNTIME.sleep(0.01)
    producer.send_batch(ProducerBatch(second, [b"b"]))
    assert flushing.join(WAIT)
    producer.commit_transaction(WAIT)

    assert (by_transport.values(first), by_transport.values(second)) == ([b"a"], [b"b"])


def test_a_delivery_callback_may_send_to_a_topic_that_is_not_known_yet(by_transport: BackendHarness) -> None:
    """As in Kafka, where such a topic may take what could not be delivered."""
    first, second = by_transport.topic(), by_transport.topic()
    producer = by_transport.producer()
    producer.begin_transaction()
    producer.send(record(first, b"a"))
    producer.send(record(first, b"b"), lambda *_: producer.send_batch(ProducerBatch(second, [b"c"])))
    producer.flush(WAIT)
    producer.commit_transaction(WAIT)

    assert (by_transport.values(first), by_transport.values(second)) == ([b"a", b"b"], [b"c"])


def test_a_send_that_another_threads_commit_overtakes_raises(
    own: EmbeddedCluster, by_transport: BackendHarness
) -> None:
    """TransactionalProducer: records are accepted, or it raises; none is lost without a word."""
    first, second = by_transport.topic(), by_transport.topic()
    producer = by_transport.producer()
    producer.begin_transaction()
    producer.send_batch(ProducerBatch(first, [b"a"]))
    producer.flush(WAIT)
    delayed, raised = own.faults.add(Delay("Metadata", seconds=0.5)), []

    def send() -> None:
        try:
            producer.send_batch(ProducerBatch(second, [b"b"]))
        except IllegalStateError as why:
            raised.append(str(why))

    sending = RUNTIME.spawn("sending", send)
    while not delayed.firings:
        RUNTIME.sleep(0.01)
    producer.commit_transaction(WAIT)

    assert sending.join(WAIT)
    assert len(raised) == 1
    assert (by_transport.values(first), by_transport.values(second)) == ([b"a"], [])
