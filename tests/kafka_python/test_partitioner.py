"""A producer that is slow to learn of a topic."""

from __future__ import annotations

import uuid

import pytest
from kafka import KafkaProducer
from kafka import errors as kafka_errors

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import RecordTooLargeError
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, NewTopic
from eosfw.records import ProducerBatch, ProducerRecord
from eosfw_kafka_python import private_api
from eosfw_kafka_python.backend import KafkaPythonBackend

WAIT = 20.0


def test_a_process_stopped_while_waiting_for_a_topic_finds_it_afterwards(
    embedded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its timeout passed while the process was stopped and could receive no response."""
    backend = KafkaPythonBackend.connect({"bootstrap.servers": embedded}, ThreadRuntime())
    here = TopicPartition(f"t{uuid.uuid4().hex[:8]}", 0)
    backend.admin().create_topics([NewTopic(here.topic, 1)])
    producer = backend.producer(uuid.uuid4().hex)
    producer.init_transactions(WAIT)
    asked, ask = [], private_api.partitions

    def partitions(client: KafkaProducer, topic: str, wait: float) -> frozenset[int]:
        asked.append(wait)
        if len(asked) == 1:
            raise kafka_errors.KafkaTimeoutError("Failed to update metadata")
        return ask(client, topic, wait)

    monkeypatch.setattr(private_api, "partitions", partitions)

    producer.begin_transaction()
    producer.send(ProducerRecord(here.topic, b"v", partition=0))
    producer.commit_transaction(WAIT)

    assert asked == [2.5, 2.5], "a topic that is not there costs no more than before"
    assert backend.admin().end_offsets([here], IsolationLevel.READ_COMMITTED) == {here: 2}  # with its marker
    backend.close()


def test_the_sizes_of_different_records_are_not_added_up(embedded: str) -> None:
    """`max.request.size` bounds one record: the longest key and the longest value may belong to two."""
    properties = {"bootstrap.servers": embedded, "max.request.size": "1000"}
    backend = KafkaPythonBackend.connect(properties, ThreadRuntime())
    here = TopicPartition(f"t{uuid.uuid4().hex[:8]}", 0)
    backend.admin().create_topics([NewTopic(here.topic, 1)])
    producer = backend.producer(uuid.uuid4().hex)
    producer.init_transactions(WAIT)

    producer.begin_transaction()
    producer.send_batch(ProducerBatch(here.topic, [b"v" * 600, b"v"], keys=[b"k", b"k" * 600], partition=0))
    producer.commit_transaction(WAIT)

    assert backend.admin().end_offsets([here], IsolationLevel.READ_COMMITTED) == {here: 3}  # with its marker
    producer.begin_transaction()
    with pytest.raises(RecordTooLargeError, match=r"takes 1200 bytes; max\.request\.size is 1000"):
        producer.send_batch(ProducerBatch(here.topic, [b"v" * 600], keys=[b"k" * 600], partition=0))
    backend.close()
