"""Records arrive once and in order despite refusals, lost responses and moving coordinators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import AbortableError, EosfwError, RecordTooLargeError
from eosfw.ids import TopicPartition
from eosfw.records import OffsetRange, ProducerBatch, ProducerRecord, RecordMetadata
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.client.producer.partitioner import murmur2
from eosfw_memory.client.transport.apis import (
    ADD_PARTITIONS,
    END_TXN,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    PRODUCE,
    Api,
    Fields,
)
from eosfw_memory.client.transport.channel import NoAnswerError
from eosfw_memory.client.transport.direct import DirectNetwork
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness, record

RUNTIME = ThreadRuntime()
MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.fixture
def direct(embedded: str) -> BackendHarness:
    return BackendHarness(MemoryBackend.connect({"bootstrap.servers": embedded}, RUNTIME), RUNTIME)


@pytest.fixture
def trouble(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Have the next calls of one kind answered otherwise; gives the names of all calls that were made."""

    def make(api: Api, *answers: Callable[[Answer], Answer]) -> list[str]:
        left, made, real = list(answers), [], DirectNetwork.call

        def call(self: DirectNetwork, asked: Api, request: Fields, deadline: float) -> Answer:
            made.append(asked.name)
            if asked.key != api.key or not left:
                return real(self, asked, request, deadline)
            return left.pop(0)(lambda: real(self, asked, request, deadline))

        monkeypatch.setattr(DirectNetwork, "call", call)
        return made

    return make


def lost(answer: Callable[[], Answer]) -> Answer:
    answer()
    raise NoAnswerError("lost on its way back")


def saying(tree: Mapping[str, Any]) -> Callable[[Callable[[], Answer]], Answer]:
    return lambda _: tree


def test_a_produce_request_whose_answer_was_lost_is_repeated_and_stored_once(direct: BackendHarness, trouble) -> None:
    """PRD-07, BRK-02: the same sequence numbers again."""
    topic, producer = direct.topic(), direct.producer()
    made = trouble(PRODUCE, lost, lost)

    producer.begin_transaction()
    producer.send_batch(ProducerBatch(topic, [b"a", b"b"], partition=0))
    producer.commit_transaction(WAIT)

    assert made.count("Produce") == 3
    assert direct.values(topic) == [b"a", b"b"]


@pytest.mark.parametrize(
    "code", [Code.NOT_COORDINATOR, Code.COORDINATOR_LOAD_IN_PROGRESS, Code.CONCURRENT_TRANSACTIONS]
)
@pytest.mark.parametrize("api", [INIT_PRODUCER_ID, END_TXN])
def test_a_coordinator_that_moved_or_is_busy_is_asked_again(
    direct: BackendHarness, trouble, api: Api, code: Code
) -> None:
    """PRD-08."""
    topic = direct.topic()
    made = trouble(api, *[saying({"error_code": code, "producer_id": -1, "producer_epoch": -1})] * 2)
    producer = direct.producer()

    producer.begin_transaction()
    producer.send(record(topic, b"v"))
    producer.commit_transaction(WAIT)

    assert direct.values(topic) == [b"v"]
    assert made.count(api.name) == 3
    assert made.count(FIND_COORDINATOR.name) == (3 if code is Code.NOT_COORDINATOR else 1)


def test_a_lost_answer_to_an_end_leaves_an_indefinite_outcome(direct: BackendHarness, trouble) -> None:
    """Design: it was committed, and the producer cannot know."""
    from eosfw.errors import IndefiniteOutcomeError

    topic, producer = direct.topic(), direct.producer()
    trouble(END_TXN, lost)
    producer.begin_transaction()
    producer.send(record(topic, b"v"))

    with pytest.raises(IndefiniteOutcomeError):
        producer.commit_transaction(WAIT)

    assert direct.values(topic) == [b"v"]


@pytest.mark.parametrize(("version", "requests"), [("1", 4), ("2", 0)])
def test_partitions_are_added_once_for_each_transaction(
    direct: BackendHarness, trouble, version: str, requests: int
) -> None:
    """PRD-03: by a request, or by the first batch (KIP-890)."""
    topic = direct.topic(partitions=2)
    producer = direct.backend.producer(direct.name(), properties={"eosfw.transaction.version": version})
    producer.init_transactions(WAIT)
    made = trouble(ADD_PARTITIONS)
    for _ in range(2):
        producer.begin_transaction()
        for number in range(6):
            producer.send_batch(ProducerBatch(topic, [b"v"], partition=number % 2))
        producer.commit_transaction(WAIT)

    assert made.count(ADD_PARTITIONS.name) == requests
    assert len(direct.values(topic)) == 12


def test_an_empty_transaction_asks_nothing_of_the_cluster(direct: BackendHarness, trouble) -> None:
    """PRD-04."""
    producer = direct.producer()
    made = trouble(END_TXN)

    producer.begin_transaction()
    producer.commit_transaction(WAIT)

    assert made == []


def test_an_abort_drops_a_refused_batch_and_reuses_its_sequence_numbers(lab: BackendHarness) -> None:
    """PRD-04, PRD-07: the producer goes on."""
    topic, producer = lab.topic(config={"max.message.bytes": "2000"}), lab.producer()
    reported: list[EosfwError | None] = []
    producer.begin_transaction()
    producer.send(record(topic, b"fine"))
    producer.flush(WAIT)
    producer.send(record(topic, b"x" * 5000), lambda _, why: reported.append(why))
    with pytest.raises(RecordTooLargeError):
        producer.commit_transaction(WAIT)
    producer.abort_transaction(WAIT)

    producer.begin_transaction()
    producer.send(record(topic, b"after"))
    producer.commit_transaction(WAIT)

    assert [type(why) for why in reported] == [RecordTooLargeError]
    assert lab.values(topic) == [b"after"]


def test_a_record_beyond_max_request_size_is_refused_where_it_is_sent(direct: BackendHarness) -> None:
    """PRD-08: abortable."""
    topic = direct.topic()
    producer = direct.producer()
    producer.begin_transaction()

    with pytest.raises(RecordTooLargeError, match=r"max\.request\.size"):
        producer.send(record(topic, b"x" * (2 << 20)))
    producer.abort_transaction(WAIT)

    assert direct.values(topic) == []


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


def test_each_record_is_reported_with_its_place_before_the_commit_returns(lab: BackendHarness) -> None:
    """DeliveryCallback."""
    topic, producer = lab.topic(), lab.producer()
    reported: list[RecordMetadata | None] = []
    producer.begin_transaction()
    for _ in range(3):
        producer.send(ProducerRecord(topic, b"v", partition=0), lambda where, _: reported.append(where))
    producer.commit_transaction(WAIT)

    assert reported == [RecordMetadata(topic, 0, offset) for offset in range(3)]


def test_records_dropped_by_an_abort_are_reported_as_dropped(embedded: str) -> None:
    """PRD-04: over a socket nothing has left before."""
    socket = MemoryBackend.connect({"bootstrap.servers": embedded, "eosfw.transport": "socket"}, RUNTIME)
    lab = BackendHarness(socket, RUNTIME)
    topic, producer = lab.topic(), lab.producer()
    reported: list[EosfwError | None] = []
    producer.begin_transaction()
    producer.send(record(topic, b"v"), lambda _, why: reported.append(why))
    producer.abort_transaction(WAIT)

    assert [type(why) for why in reported] == [AbortableError]
    assert lab.end(topic, UNCOMMITTED) == 0
    lab.close()


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


@pytest.mark.parametrize("key", MURMUR2)
def test_murmur2_is_javas(key: bytes) -> None:
    """Kafka's own test values."""
    assert murmur2(key) == MURMUR2[key] & 0xFFFFFFFF
