"""Behaviour of kafka-python that breaks transactions, and how the backend avoids it.

A test that fails where the library alone is asked says that a new release has changed: then what the backend does about
it may go.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace

import pytest
from kafka import KafkaProducer, OffsetAndMetadata
from kafka import TopicPartition as KafkaPartition
from kafka import errors as kafka_errors
from kafka.cluster import ClusterMetadata
from kafka.producer.transaction_manager import (
    AddOffsetsToTxnHandler,
    InitProducerIdHandler,
    ProducerIdAndEpoch,
    TransactionManager,
    TransactionState,
)
from kafka.protocol.metadata import MetadataRequest
from kafka.structs import ConsumerGroupMetadata as KafkaGroup

from eosfw.errors import AbortableError, IndefiniteOutcomeError, RecordTooLargeError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, IsolationLevel
from eosfw.records import OffsetRange, ProducerBatch, ProducerRecord
from eosfw_kafka_python import private_api
from eosfw_kafka_python.backend import KafkaPythonBackend
from eosfw_kafka_python.producer import KafkaPythonProducer
from pytest_eos.contracts.backends.harness import commit

from .conftest import LINGERING, WAIT

OLD_EPOCH, LOST_MAPPING = 47, 49
COMMITTED = IsolationLevel.READ_COMMITTED


def values(backend: KafkaPythonBackend, topic: str) -> list[bytes | None]:
    """What is committed in the first partition."""
    one = TopicPartition(topic, 0)
    (end,) = backend.admin().end_offsets([one], IsolationLevel.READ_UNCOMMITTED).values()
    batches = backend.reader(COMMITTED).read({one: OffsetRange(0, end)}, WAIT)
    return [value for batch in batches for value in batch.values]


def manager() -> TransactionManager:
    """The library's own, in a transaction."""
    made = TransactionManager(transactional_id="id", api_version=(4, 0))
    made._current_state = TransactionState.IN_TRANSACTION
    made.producer_id_and_epoch = ProducerIdAndEpoch(1, 1)
    return made


def inner(producer: KafkaPythonProducer) -> TransactionManager:
    """The library's transaction manager of an eosfw producer."""
    producer.begin_transaction()
    return producer._client._transaction_manager


# --- zombies


def test_kafka_python_requests_an_epoch_bump_after_an_old_epoch(producer: KafkaPythonProducer) -> None:
    """PRD-02: a zombie would hold its id again; here it is fenced for good."""
    old = kafka_errors.InvalidProducerEpochError()

    assert manager().classify_batch_error(old, None) == TransactionManager.ERROR_CLASS_NEEDS_EPOCH_BUMP
    assert inner(producer).classify_batch_error(old, None) == TransactionManager.ERROR_CLASS_FATAL


def test_kafka_python_reinitialises_its_id_after_a_refused_epoch_bump(producer: KafkaPythonProducer) -> None:
    """PRD-01: this would fence the rightful owner; a fenced eosfw producer never re-initialises."""

    def refused(of: TransactionManager) -> TransactionManager:
        of._current_state = TransactionState.BUMPING_PRODUCER_EPOCH
        handler = InitProducerIdHandler(of, 1000, is_epoch_bump=True)
        handler.handle_response(SimpleNamespace(error_code=OLD_EPOCH))
        return of

    library = refused(manager())
    (_, _, next_request) = library._pending_requests[0]
    assert (next_request.request.producer_id, library._current_state.name) == (-1, "BUMPING_PRODUCER_EPOCH")

    held = refused(inner(producer))
    assert (held._pending_requests, held._current_state) == ([], TransactionState.FATAL_ERROR)


def test_kafka_python_continues_after_an_invalid_producer_id_mapping(producer: KafkaPythonProducer) -> None:
    """KAFKA-18019: later commits of other producers are unknown, so eosfw treats the error as fatal."""

    def lost(of: TransactionManager) -> TransactionState:
        AddOffsetsToTxnHandler(of, KafkaGroup("group"), {}).handle_response(SimpleNamespace(error_code=LOST_MAPPING))
        return of._current_state

    assert lost(manager()) is TransactionState.ABORTABLE_ERROR
    assert lost(inner(producer)) is TransactionState.FATAL_ERROR


# --- records


def test_kafka_python_commits_a_transaction_after_losing_a_batch(
    backend: KafkaPythonBackend, bare: Callable[..., KafkaProducer], producer: KafkaPythonProducer, topic: str
) -> None:
    """PRD-04, KAFKA-14053: records without their offsets, or the reverse; here the outcome is indefinite."""
    where = KafkaPartition(topic, 0)

    def grow_old(client: KafkaProducer) -> None:
        client._accumulator._batches[where][0].created -= 3600
        client._sender.wakeup()

    library = bare(linger_ms=30_000)
    library.begin_transaction()
    library.send(topic, b"kept", partition=1)
    library.flush(WAIT)
    lost = library.send(topic, b"lost", partition=0)
    grow_old(library)
    with pytest.raises(kafka_errors.KafkaTimeoutError):
        lost.get(WAIT)
    library.commit_transaction()  # without a word
    assert values(backend, topic) == []

    producer.begin_transaction()
    producer.send(ProducerRecord(topic, b"lost", partition=0))
    grow_old(producer._client)
    with pytest.raises(IndefiniteOutcomeError, match="Expiring 1 record"):
        producer.commit_transaction(WAIT)


@pytest.mark.parametrize(
    ("message", "refusal"),
    [({"value": b"v", "headers": [("h", None)]}, TypeError), ({"value": None, "key": None}, ValueError)],
)
def test_kafka_python_refuses_records_that_kafka_accepts(
    bare: Callable[..., KafkaProducer],
    producer: KafkaPythonProducer,
    backend: KafkaPythonBackend,
    topic: str,
    message: dict[str, object],
    refusal: type[Exception],
) -> None:
    """Records: a header may have no value, a record neither key nor value."""
    library = bare()
    library.begin_transaction()
    with pytest.raises(refusal):
        library.send(topic, partition=0, **message)

    producer.begin_transaction()
    producer.send(ProducerRecord(topic, message["value"], partition=0, headers=tuple(message.get("headers", ()))))
    producer.commit_transaction(WAIT)

    assert values(backend, topic) == [message["value"]]


def test_a_process_stopped_while_waiting_for_a_topic_finds_it_afterwards(
    backend: KafkaPythonBackend, producer: KafkaPythonProducer, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its timeout passed while the process was stopped and could receive no response."""
    asked, ask = [], private_api.partitions

    def partitions(client: KafkaProducer, topic: str, wait: float) -> frozenset[int]:
        asked.append(wait)
        if len(asked) == 1:
            raise kafka_errors.KafkaTimeoutError("Failed to update metadata")
        return ask(client, topic, WAIT)  # this process may stand still once more

    monkeypatch.setattr(private_api, "partitions", partitions)

    commit(producer, topic, b"v")

    assert asked == [2.5, 2.5], "a topic that is not there costs no more than before"
    assert values(backend, topic) == [b"v"]


def test_a_missing_topic_is_reported_although_the_time_of_the_read_is_over(
    backend: KafkaPythonBackend, topic: str
) -> None:
    """Its consumer leaves out denied topics, too: which of both it is takes another request."""
    with closing(backend.producer(None)) as producer:
        producer.send(ProducerRecord(topic, value=b"v", partition=0))
        producer.flush(WAIT)
    reader = backend.reader(COMMITTED)
    list(reader.read({TopicPartition(topic, 0): OffsetRange(0, 1)}, WAIT))  # it is connected from here on

    with pytest.raises(UnknownTopicOrPartitionError):
        list(reader.read({TopicPartition(f"{topic}-missing", 0): OffsetRange(0, 1)}, 0.0))


def test_the_sizes_of_different_records_are_not_added_up(backend: KafkaPythonBackend, topic: str) -> None:
    """`max.request.size` bounds one record: the longest key and the longest value may belong to two."""
    producer = backend.producer(uuid.uuid4().hex, properties={"max.request.size": "1000"})
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    producer.send_batch(ProducerBatch(topic, [b"v" * 600, b"v"], keys=[b"k", b"k" * 600], partition=0))
    producer.commit_transaction(WAIT)
    assert values(backend, topic) == [b"v" * 600, b"v"]

    producer.begin_transaction()
    with pytest.raises(RecordTooLargeError, match=r"takes 1200 bytes; max\.request\.size is 1000"):
        producer.send_batch(ProducerBatch(topic, [b"v" * 600], keys=[b"k" * 600], partition=0))


# --- group offsets


def test_kafka_python_commits_aborted_offsets_with_the_next_transaction(
    backend: KafkaPythonBackend, bare: Callable[..., KafkaProducer], producer: KafkaPythonProducer, topic: str
) -> None:
    """GRP-03: committing aborted offsets would skip unprocessed records."""
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    stale = ("member-of-old", 5)

    group = f"g{uuid.uuid4().hex[:8]}"
    library = bare()
    library.begin_transaction()
    with pytest.raises(kafka_errors.CommitFailedError):
        library.send_offsets_to_transaction(
            {KafkaPartition(*first): OffsetAndMetadata(7, "", -1)}, KafkaGroup(group, stale[1], stale[0])
        )
    library.abort_transaction()
    library.begin_transaction()
    library.send_offsets_to_transaction({KafkaPartition(*second): OffsetAndMetadata(9, "", -1)}, group)
    library.commit_transaction()
    assert backend.admin().group_offsets(group, [first, second]) == {first: 7, second: 9}

    group = f"g{uuid.uuid4().hex[:8]}"
    producer.begin_transaction()
    with pytest.raises(AbortableError):
        producer.send_offsets({first: 7}, ConsumerGroupMetadata(group, stale[1], stale[0]), WAIT)
    producer.abort_transaction(WAIT)
    producer.begin_transaction()
    producer.send_offsets({second: 9}, ConsumerGroupMetadata(group), WAIT)
    producer.commit_transaction(WAIT)
    assert backend.admin().group_offsets(group, [first, second]) == {second: 9}


# --- waiting


@pytest.mark.parametrize("call", ["commit_transaction", "abort_transaction", "send_offsets_to_transaction"])
def test_calls_of_kafka_python_take_no_timeout(call: str) -> None:
    """CFG-08: so eosfw calls none of them; `kip98/test_lost_cluster.py` shows its own deadlines."""
    assert "timeout" not in str(inspect.signature(getattr(KafkaProducer, call)))


def test_the_buffer_of_kafka_python_is_unbounded(backend: KafkaPythonBackend, topic: str) -> None:
    """Backpressure: eosfw keeps `buffer.memory` by waiting until the records in flight are written."""
    assert "buffer_memory" not in KafkaProducer.DEFAULT_CONFIG

    producer = backend.producer(uuid.uuid4().hex, properties={**LINGERING, "buffer.memory": "1000"})
    producer.init_transactions(WAIT)
    producer.begin_transaction()
    waiting = []
    for _ in range(10):
        producer.send(ProducerRecord(topic, b"v" * 400, partition=0))
        waiting.append(producer._in_flight.waiting)

    assert max(waiting) <= 2


def test_a_member_joins_though_an_earlier_question_is_answered_first(
    backend: KafkaPythonBackend, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for metadata gets the answer to a request under way, which knew of no subscription yet."""
    made, asked = ClusterMetadata.metadata_request, []

    def request(self: ClusterMetadata) -> MetadataRequest:
        made_now = made(self)
        if self._topics:
            asked.append(made_now)
        if len(asked) == 1:
            made_now.topics = MetadataRequest.NO_TOPICS
        return made_now

    monkeypatch.setattr(ClusterMetadata, "metadata_request", request)
    member = backend.group_consumer(
        f"{topic}-group", topic, client_id="m", session_timeout=WAIT, rebalance_timeout=WAIT
    )
    with closing(member):
        assert member.poll(WAIT).partitions
    assert len(asked) > 1
