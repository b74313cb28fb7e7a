"""Records arrive once and in order despite refusals, lost responses and moving coordinators."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import (
    AbortableError,
    ConcurrentTransactionsError,
    EosfwError,
    FatalError,
    IllegalStateError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, NewTopic
from eosfw.records import OffsetRange, ProducerBatch
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.producer import record_accumulator
from eosfw_memory.client.producer.record_accumulator import PartitionAccumulator
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.faults import Delay, Fail, Fault, Lose
from eosfw_memory.server.protocol.handlers.records import produce
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness, commit, record

RUNTIME = ThreadRuntime()
IDEMPOTENT = {"enable.idempotence": "true"}


@pytest.fixture
def own() -> Iterator[EmbeddedCluster]:
    """A cluster of one test, for faults that name no client."""
    cluster = EmbeddedCluster.start({}, RUNTIME)
    yield cluster
    cluster.close()


@pytest.fixture
def direct(own: EmbeddedCluster) -> Iterator[BackendHarness]:
    lab = BackendHarness(MemoryBackend.connect({"bootstrap.servers": own.bootstrap_servers}, RUNTIME), RUNTIME)
    yield lab
    lab.close()


@pytest.fixture(params=["direct", "socket"])
def by_transport(own: EmbeddedCluster, request: pytest.FixtureRequest) -> Iterator[BackendHarness]:
    """The client on each transport in turn."""
    given = {"bootstrap.servers": own.bootstrap_servers, "eosfw.transport": request.param}
    lab = BackendHarness(MemoryBackend.connect(given, RUNTIME), RUNTIME)
    yield lab
    lab.close()


def counted(cluster: EmbeddedCluster, request: str) -> Fault:
    """Fires at every request of a kind, and changes nothing."""
    return cluster.faults.add(Delay(request, seconds=0.0, times=1_000))


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
    producer = direct.backend.producer(direct.name(), properties=given)
    producer.init_transactions(WAIT)
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


@pytest.mark.parametrize("transport", ["direct", "socket"])
@pytest.mark.parametrize("what", ["records", "offsets"])
def test_a_transaction_of_version_1_fails_at_once_when_its_topic_is_deleted(transport: str, what: str) -> None:
    """The coordinator says that it does not know the topic, which passes only where that is new."""
    cluster = EmbeddedCluster.start({"auto.create.topics.enable": "false"}, RUNTIME)
    given = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "eosfw.transport": transport,
        "eosfw.transaction.version": "1",
    }
    lab = BackendHarness(MemoryBackend.connect(given, RUNTIME), RUNTIME)
    topic, producer = lab.topic(), lab.producer()
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
    lab.close()
    cluster.close()


@pytest.mark.parametrize(("version", "requests"), [("1", 4), ("2", 0)])
def test_partitions_are_added_once_for_each_transaction(
    direct: BackendHarness, own: EmbeddedCluster, version: str, requests: int
) -> None:
    """PRD-03: by a request, or by the first batch (KIP-890)."""
    topic, added = direct.topic(partitions=2), counted(own, "AddPartitionsToTxn")
    producer = direct.backend.producer(direct.name(), properties={"eosfw.transaction.version": version})
    producer.init_transactions(WAIT)
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


def test_records_dropped_by_an_abort_are_reported_as_dropped(own: EmbeddedCluster) -> None:
    """PRD-04: over a socket nothing has left before."""
    given = {"bootstrap.servers": own.bootstrap_servers, "eosfw.transport": "socket"}
    lab = BackendHarness(MemoryBackend.connect(given, RUNTIME), RUNTIME)
    topic, producer = lab.topic(), lab.producer()
    reported: list[EosfwError | None] = []
    producer.begin_transaction()
    producer.send(record(topic, b"v"), lambda _, why: reported.append(why))
    producer.abort_transaction(WAIT)

    assert [type(why) for why in reported] == [AbortableError]
    assert lab.end(topic, UNCOMMITTED) == 0
    lab.close()


@pytest.mark.parametrize("transport", ["direct", "socket"])
def test_a_transaction_without_records_commits_though_the_cluster_is_gone(transport: str) -> None:
    """TXN-17, PRD-04: an empty transaction needs no request."""
    cluster = EmbeddedCluster.start({}, RUNTIME)
    given = {"bootstrap.servers": cluster.bootstrap_servers, "eosfw.transport": transport}
    backend = MemoryBackend.connect(given, RUNTIME)
    producer = backend.producer("id")
    producer.init_transactions(WAIT)
    cluster.close()

    producer.begin_transaction()
    producer.commit_transaction(0.0)
    with pytest.raises(IllegalStateError):  # no transaction is left that a second commit could end
        producer.commit_transaction(0.0)
    backend.close()


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_record_after_an_abort_is_not_taken_for_one_that_was_stored_before(lab: BackendHarness, version: str) -> None:
    """BRK-02: of one request a batch was refused, another stored, whose sequence numbers are used up."""
    strict, topic = lab.topic(config={"max.message.bytes": "1000"}), lab.topic()
    producer = lab.backend.producer(lab.name(), properties={"eosfw.transaction.version": version})
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    producer.send(record(topic, b"first"))
    producer.flush(WAIT)
    producer.send(record(strict, b"x" * 2000))
    producer.send(record(topic, b"aborted"))
    with pytest.raises(RecordTooLargeError):
        producer.flush(WAIT)
    producer.abort_transaction(WAIT)

    commit(producer, topic, b"kept")

    assert lab.values(topic) == [b"kept"]


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_record_after_an_abort_is_not_taken_for_one_whose_outcome_is_unknown(
    direct: BackendHarness, own: EmbeddedCluster, version: str
) -> None:
    """BRK-02: the answer to a batch was lost, and when it came again it was refused, for another reason."""
    topic = direct.topic()
    producer = direct.backend.producer(direct.name(), properties={"eosfw.transaction.version": version})
    producer.init_transactions(WAIT)
    commit(producer, topic, b"first")
    own.faults.add(Lose("Produce"))
    own.faults.add(Fail("Produce", code="TOPIC_AUTHORIZATION_FAILED", nth=2))
    producer.begin_transaction()
    producer.send(record(topic, b"aborted"))
    with pytest.raises(AbortableError):
        producer.flush(WAIT)
    producer.abort_transaction(WAIT)

    commit(producer, topic, b"kept")

    assert direct.values(topic) == [b"first", b"kept"]


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_record_after_an_abort_is_not_taken_for_one_whose_broker_failed(
    direct: BackendHarness, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BRK-02: an UnknownServerError does not say whether the batch was stored before."""
    topic = direct.topic()
    producer = direct.backend.producer(direct.name(), properties={"eosfw.transaction.version": version})
    producer.init_transactions(WAIT)
    commit(producer, topic, b"first")
    append = produce._appended

    def append_and_fail(*given: Any) -> None:
        append(*given)
        raise KafkaError(Code.UNKNOWN_SERVER_ERROR)

    producer.begin_transaction()
    with monkeypatch.context() as failing:
        failing.setattr(produce, "_appended", append_and_fail)
        producer.send(record(topic, b"aborted"))
        with pytest.raises(AbortableError):
            producer.flush(WAIT)
    producer.abort_transaction(WAIT)

    commit(producer, topic, b"kept")

    assert direct.values(topic) == [b"first", b"kept"]


def test_an_abort_that_is_repeated_still_gives_no_sequence_number_twice(
    direct: BackendHarness, own: EmbeddedCluster
) -> None:
    """BRK-02, version 1: the first one ended the transaction, and got no higher epoch in its time."""
    topic = direct.topic()
    producer = direct.backend.producer(direct.name(), properties={"eosfw.transaction.version": "1"})
    producer.init_transactions(WAIT)
    own.faults.add(Lose("Produce"))
    own.faults.add(Fail("Produce", code="TOPIC_AUTHORIZATION_FAILED", nth=2))
    producer.begin_transaction()
    producer.send(record(topic, b"aborted"))
    busy = own.faults.add(Fail("InitProducerId", code="CONCURRENT_TRANSACTIONS", times=1_000))
    with pytest.raises(ConcurrentTransactionsError):
        producer.abort_transaction(0.1)
    own.faults.remove(busy)
    producer.abort_transaction(WAIT)

    commit(producer, topic, b"kept")

    assert direct.values(topic) == [b"kept"]


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


# --- without a transactional id


def test_an_idempotent_producer_repeats_what_was_not_answered(direct: BackendHarness, own: EmbeddedCluster) -> None:
    """PRD-01, PRD-07, BRK-02: by a producer id for nothing else, which `enable.idempotence` asks for."""
    topic, identified = direct.topic(), counted(own, "InitProducerId")
    lost = own.faults.add(Lose("Produce", times=2))
    producer = direct.backend.producer(None, properties=IDEMPOTENT)

    producer.send_batch(ProducerBatch(topic, [b"a", b"b"], partition=0))
    producer.flush(WAIT)

    assert (len(identified.firings), len(lost.firings)) == (1, 2)
    assert direct.values(topic) == [b"a", b"b"]


def test_without_idempotence_a_lost_answer_is_not_asked_for_again(direct: BackendHarness, own: EmbeddedCluster) -> None:
    """So it is the producer id that makes the repetition harmless."""
    topic, written = direct.topic(), counted(own, "Produce")
    own.faults.add(Lose("Produce"))
    producer = direct.backend.producer(None)

    producer.send(record(topic, b"a"))
    with pytest.raises(FatalError):
        producer.flush(WAIT)

    assert len(written.firings) == 1


@pytest.mark.parametrize("transport", ["direct", "socket"])
@pytest.mark.parametrize("properties", [{}, IDEMPOTENT], ids=["plain", "idempotent"])
def test_records_of_a_deleted_topic_hold_no_others_back(transport: str, properties: dict[str, str]) -> None:
    """They fail, and every other record is delivered."""
    cluster = EmbeddedCluster.start({"auto.create.topics.enable": "false"}, RUNTIME)
    given = {"bootstrap.servers": cluster.bootstrap_servers, "eosfw.transport": transport}
    lab = BackendHarness(MemoryBackend.connect(given, RUNTIME), RUNTIME)
    gone, kept = lab.topic(), lab.topic()
    producer = lab.backend.producer(None, properties={**properties, "max.request.size": "2000"})
    producer.send_batch(ProducerBatch(gone, [b"v"], partition=0))
    producer.flush(WAIT)
    lab.admin.delete_topics([gone])
    heard: list[EosfwError | None] = []
    for number in range(3):
        producer.send(record(gone, b"v" * 1500), lambda _, why: heard.append(why))
        producer.send(record(kept, b"%d" % number))

    with pytest.raises(UnknownTopicOrPartitionError):
        producer.flush(WAIT)
    with suppress(UnknownTopicOrPartitionError):
        producer.flush(WAIT)
    producer.send(record(kept, b"3"))
    producer.flush(WAIT)

    assert [type(why) for why in heard] == [UnknownTopicOrPartitionError] * 3
    assert lab.values(kept) == [b"0", b"1", b"2", b"3"]
    lab.close()
    cluster.close()


def test_each_idempotent_producer_has_an_id_of_its_own(lab: BackendHarness) -> None:
    """PRD-01: any broker assigns one without fencing. Over every transport, and on a real Kafka."""
    topic = lab.topic()
    producers = [lab.backend.producer(None, properties=IDEMPOTENT) for _ in range(2)]
    for number in range(3):
        for producer in producers:
            producer.send(record(topic, b"%d" % number))
            producer.flush(WAIT)

    states = lab.admin.describe_producers([TopicPartition(topic, 0)])[TopicPartition(topic, 0)]

    assert sorted(lab.values(topic)) == [b"0", b"0", b"1", b"1", b"2", b"2"]
    assert len({each.producer.producer_id for each in states}) == 2
    assert {(each.last_sequence, each.open_since) for each in states} == {(2, None)}


def test_a_refused_batch_leaves_no_gap_behind(direct: BackendHarness) -> None:
    """BRK-02: what was sent behind it in the same call gets its sequence numbers, else all would be refused."""
    topic = direct.topic(config={"max.message.bytes": "1000"})
    producer = direct.backend.producer(None, properties=IDEMPOTENT)
    producer.send(record(topic, b"first"))
    producer.flush(WAIT)
    heard = []

    for value in (b"x" * 2000, b"behind"):
        producer.send(record(topic, value), lambda place, _: heard.append(place is not None))
        producer._close_batches()  # a batch for each, as if they had come one by one to a busy producer
    with pytest.raises(RecordTooLargeError):
        producer.flush(WAIT)
    producer.flush(WAIT)
    producer.send(record(topic, b"last"))
    producer.flush(WAIT)

    assert heard == [False, True]
    assert direct.values(topic) == [b"first", b"behind", b"last"]


@pytest.mark.parametrize("kind", ["plain", "idempotent", "transactional"])
def test_a_batch_that_is_too_large_for_its_topic_goes_in_smaller_ones(by_transport: BackendHarness, kind: str) -> None:
    """Each record fits, so all of them arrive, in their order, with every column."""
    lab = by_transport
    topic = lab.topic(config={"max.message.bytes": "1000"})
    transactional = kind == "transactional"
    name = lab.name() if transactional else None
    producer = lab.backend.producer(name, properties=IDEMPOTENT if kind == "idempotent" else {})
    heard: list[tuple[int, int]] = []
    values = [b"%03d" % number * 20 for number in range(600)]
    keys = [None if number % 3 else b"k" for number in range(600)]
    headers = [() if number % 2 else (("h", b"%d" % number),) for number in range(600)]
    batch = ProducerBatch(topic, values, keys, 0, list(range(600)), headers)
    if transactional:
        producer.init_transactions(WAIT)
        producer.begin_transaction()

    producer.send_batch(batch, lambda at, place, _: heard.append((at, place.offset if place else -1)))
    producer.send(record(topic, b"behind"))
    if transactional:
        producer.commit_transaction(WAIT)
    producer.flush(WAIT)

    reader = lab.backend.reader(COMMITTED, headers=True)
    found = [
        row
        for each in reader.read(lab.ranges(topic, UNCOMMITTED), WAIT)
        for row in zip(each.values, each.keys or (), each.timestamps, each.headers or (), strict=True)
    ]
    assert found[:-1] == list(zip(values, keys, range(600), headers, strict=True))
    assert found[-1][0] == b"behind"
    assert heard == [(number, number) for number in range(600)]


def test_no_record_is_taken_for_one_that_was_refused_after_its_answer_was_lost(
    direct: BackendHarness, own: EmbeddedCluster
) -> None:
    """BRK-02: it may have been stored, under the numbers that would be given to those behind it (KIP-360)."""
    topic = direct.topic()
    producer = direct.backend.producer(None, properties=IDEMPOTENT)
    producer.send(record(topic, b"first"))
    producer.flush(WAIT)
    own.faults.add(Lose("Produce"))
    own.faults.add(Fail("Produce", code="TOPIC_AUTHORIZATION_FAILED", nth=2))
    for value in (b"unknown", b"behind"):
        producer.send(record(topic, value))
        producer._close_batches()
    with pytest.raises(AbortableError):
        producer.flush(WAIT)
    producer.flush(WAIT)
    producer.send(record(topic, b"last"))
    producer.flush(WAIT)

    assert direct.values(topic) == [b"first", b"unknown", b"behind", b"last"]


def test_a_record_that_another_thread_sends_while_a_refused_batch_is_taken_out_is_not_lost(
    direct: BackendHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PRD-07: the batches behind the refused one get other sequence numbers just then."""
    topic = direct.topic(config={"max.message.bytes": "1000"})
    producer = direct.backend.producer(None, properties=IDEMPOTENT)
    heard: list[bool] = []
    others: list[threading.Thread] = []

    def send(value: bytes) -> None:
        producer.send(record(topic, value), lambda place, _: heard.append(place is not None))
        producer._close_batches()

    def resequenced(*arguments: Any) -> bytes:
        others.append(threading.Thread(target=send, args=(b"from another thread",)))
        others[-1].start()
        others[-1].join(0.2)  # longer only where it has to wait for this thread
        return renumber(*arguments)

    renumber = record_accumulator.resequenced
    monkeypatch.setattr(record_accumulator, "resequenced", resequenced)
    for value in (b"x" * 2000, b"behind"):
        send(value)
    with pytest.raises(RecordTooLargeError):
        producer.flush(WAIT)
    for each in others:
        each.join(WAIT)
    producer.flush(WAIT)

    assert direct.values(topic) == [b"behind", b"from another thread"]
    assert heard == [False, True, True]


def test_in_a_transaction_records_behind_a_refused_batch_keep_their_sequence_numbers() -> None:
    """KAFKA-14034: it may have arrived; with its numbers other records would be taken for it, and lost."""
    holder, lock = ProducerIdAndEpoch(7, 0), RUNTIME.lock()
    queue = PartitionAccumulator(TopicPartition("t", 0), holder, 1_000_000, transactional=True, lock=lock)
    for value in (b"refused", b"behind"):
        queue.add(ProducerBatch("t", [value]), 0, None)
        queue.close_batch()
    sent = [(one.data, one.base_sequence) for one in queue.closed_batches]

    queue.fail_first(AbortableError("no answer"))

    assert [(one.data, one.base_sequence) for one in queue.closed_batches] == sent
