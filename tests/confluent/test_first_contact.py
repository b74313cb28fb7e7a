"""A producer looks for coordinators and leaders only at brokers that stay connected."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from eosfw.concurrency import ThreadRuntime
from eosfw.protocols import Backend
from eosfw.records import ProducerRecord
from eosfw_confluent.backend import ConfluentBackend
from eosfw_memory.cluster import EmbeddedCluster

BOOTSTRAP = SimpleNamespace(orig_broker_id=-1)
BROKER = SimpleNamespace(orig_broker_id=1)
DROPPED = KafkaException(KafkaError(KafkaError._DESTROY_BROKER))


class Recorded:
    """A librdkafka producer with given answers to metadata requests; notes which calls it gets."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)
        self.calls: list[str] = []

    def list_topics(self, topic: str, timeout: float) -> object:
        assert topic == ".."
        assert timeout > 0
        self.calls.append("metadata")
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def produce(self, *_: object) -> None:
        self.calls.append("produce")

    def poll(self, timeout: float) -> int:
        return 0

    def init_transactions(self, timeout: float) -> None:
        assert timeout > 0
        self.calls.append("init")
        if self.calls.count("init") == 1 and isinstance(self._answers[0], Exception):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "not yet", retriable=True))


@pytest.fixture
def backend() -> Backend:
    return ConfluentBackend.connect({"bootstrap.servers": "127.0.0.1:1"}, ThreadRuntime())


def _initialised(backend: Backend, client: Recorded) -> list[str]:
    producer = backend.producer("id")
    producer._client = client  # type: ignore[attr-defined]
    producer.init_transactions(10)
    return client.calls


def test_transactions_start_once_a_learned_broker_answered(backend: Backend) -> None:
    """PRD-01: what is asked over the bootstrap connection gets lost when it is dropped, and waits half a second."""
    calls = _initialised(backend, Recorded(BOOTSTRAP, DROPPED, BOOTSTRAP, BROKER))

    assert calls == ["metadata", "metadata", "metadata", "metadata", "init"]


def test_brokers_that_never_answer_only_delay_the_first_try(backend: Backend) -> None:
    """PRD-01: the call itself finds out and says what hinders it, so it is made in any case."""
    calls = _initialised(backend, Recorded(DROPPED))

    first = calls.index("init")
    assert set(calls[:first]) == {"metadata"}
    assert calls[first:] == ["init", "init"]


def test_a_first_record_without_a_transaction_is_sent_once_a_learned_broker_answered(backend: Backend) -> None:
    """What a new producer asks over the bootstrap connection delays its record by half a second or more."""
    client = Recorded(BOOTSTRAP, DROPPED, BROKER)
    producer = backend.producer(None)
    producer._client = client  # type: ignore[attr-defined]

    producer.send(ProducerRecord("t", b"first"))
    producer.send(ProducerRecord("t", b"second"))

    assert client.calls == ["metadata", "metadata", "metadata", "produce", "produce"]


def test_a_record_is_accepted_although_no_broker_answers(backend: Backend) -> None:
    """It waits in the producer, as long as its delivery may take."""
    client = Recorded(DROPPED)
    producer = backend.producer(None, properties={"max.block.ms": "5"})
    producer._client = client  # type: ignore[attr-defined]

    producer.send(ProducerRecord("t", b"v"))

    assert client.calls[-1] == "produce"


def test_no_topic_is_made_by_the_first_contact() -> None:
    """PRD-01: a cluster that creates topics when they are asked for creates none."""
    runtime = ThreadRuntime()
    cluster = EmbeddedCluster.start({"auto.create.topics.enable": "true"}, runtime)
    backend = ConfluentBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
    producer = backend.producer("id")

    producer.init_transactions(30)

    with closing(backend.admin()) as admin:
        assert set(admin.partitions()) <= {"__transaction_state"}
    producer.close()
    backend.close()
    cluster.close()
