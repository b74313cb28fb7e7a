"""A producer without a transactional id, with idempotence and without it."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import pytest
from tests.memory.conftest import NO_NEW_TOPICS, counted

from eosfw.errors import (
    AbortableError,
    EosfwError,
    FatalError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from eosfw.ids import TopicPartition
from eosfw.records import ProducerBatch
from eosfw_memory.client.producer import record_accumulator
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Fail, Lose
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness, record

IDEMPOTENT = {"enable.idempotence": "true"}


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


@NO_NEW_TOPICS
@pytest.mark.parametrize("properties", [{}, IDEMPOTENT], ids=["plain", "idempotent"])
def test_records_of_a_deleted_topic_hold_no_others_back(
    by_transport: BackendHarness, properties: dict[str, str]
) -> None:
    """They fail, and every other record is delivered."""
    lab = by_transport
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


@pytest.mark.parametrize("code", ["OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID"])
def test_a_producer_whose_earlier_batches_the_broker_has_lost_goes_on(
    direct: BackendHarness, own: EmbeddedCluster, code: str
) -> None:
    """PRD-07: it raises its epoch for the partition and numbers its batches anew, as Java's does (KIP-360)."""
    topic = direct.topic()
    where = TopicPartition(topic, 0)
    producer = direct.backend.producer(None, properties=IDEMPOTENT)
    producer.send(record(topic, b"first"))
    producer.flush(WAIT)
    own.faults.add(Fail("Produce", code=code))

    for value in (b"second", b"third"):
        producer.send(record(topic, value))
        producer._close_batches()
    producer.flush(WAIT)

    (state,) = direct.admin.describe_producers([where])[where]
    assert (state.producer.epoch, state.last_sequence) == (1, 1)
    assert direct.values(topic) == [b"first", b"second", b"third"]


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
