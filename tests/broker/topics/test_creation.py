"""Many topics that one request creates: bounded, in slices between which the broker serves others."""

from __future__ import annotations

import itertools
import threading
import uuid
from types import SimpleNamespace as Request

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import DelayedOperation
from eosfw_memory.common.log_errors import KafkaStorageError
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.protocol.handlers.topics import create_topics, metadata
from eosfw_memory.storage.topics.creation import MAX_PARTITIONS_PER_REQUEST
from eosfw_memory.storage.topics.topic import Topics

from ..brokers import started
from ..groups.group_requests import Raw

METADATA, CREATE_TOPICS = 3, 19


def about(count: int, start: int = 0) -> Request:
    topics = [Request(name=f"t{number}", topic_id=None) for number in range(start, start + count)]
    return Request(topics=topics, allow_auto_topic_creation=True)


def wanted(count: int, partitions: int = 1) -> Request:
    topics = [
        Request(name=f"t{number}", num_partitions=partitions, replication_factor=1, assignments=(), configs=())
        for number in range(count)
    ]
    return Request(topics=topics, validate_only=False)


def codes(answer) -> list[int]:
    return [topic["error_code"] for topic in answer["topics"]]


@pytest.mark.parametrize(
    ("handler", "request_for"), [(metadata, about), (create_topics, wanted)], ids=["Metadata", "CreateTopics"]
)
class TestSlices:
    def test_another_request_is_served_between_two_slices(self, handler, request_for):
        """One lock serves everybody, so it is given back while much is still to be done."""
        broker = started()
        answer = broker.serve(handler.handle, request_for(1000), Context(7))
        assert isinstance(answer, DelayedOperation)
        wakes = itertools.count()
        broker.await_answer(answer, lambda: next(wakes))
        there = [len(list(broker.topics))]
        while (done := broker.attempt(answer, expired=False)) is None:
            there.append(len(list(broker.topics)))
            other = broker.serve(metadata.handle, Request(topics=[Request(name="t0", topic_id=None)]), Context(7))
            assert codes(other) == [Code.NONE]
        assert codes(done) == [Code.NONE] * 1000
        assert next(wakes) == len(there) - 1, "each slice but the last asks for the next one"
        assert max(after - before for before, after in itertools.pairwise([0, *there, 1000])) <= 128

    def test_topics_that_cannot_be_kept_are_refused(self, monkeypatch, handler, request_for):
        """Each with the reason; their names are free afterwards."""

        def full(*_):
            raise KafkaStorageError("full")

        broker = started()
        monkeypatch.setattr(broker.storage, "create", full)
        for _ in range(2):
            answer = broker.serve(handler.handle, request_for(3), Context(7))
            assert codes(answer) == [Code.KAFKA_STORAGE_ERROR] * 3  # few are done at once


def done(broker: Broker, handler, request) -> object:
    answer = broker.serve(handler.handle, request, Context(7))
    while isinstance(answer, DelayedOperation):
        answer = broker.attempt(answer, expired=False) or answer
    return answer


def test_topics_beyond_the_bound_exist_when_asked_about_again():
    """Kafka's clients ask again about a topic that is unknown: so it answers of every topic it is about to create."""
    broker = started()
    request = about(MAX_PARTITIONS_PER_REQUEST + 5)
    assert codes(done(broker, metadata, request))[-6:] == [Code.NONE] + [Code.UNKNOWN_TOPIC_OR_PARTITION] * 5
    assert set(codes(done(broker, metadata, request))) == {Code.NONE}


def test_names_that_collide_are_refused_while_their_topic_is_there():
    """Kafka's metric names cannot tell '.' from '_'."""
    broker = started()
    topics = [Request(name=name, topic_id=None) for name in ("a.b", "a_b")]
    answer = broker.serve(metadata.handle, Request(topics=topics), Context(7))
    assert codes(answer) == [Code.NONE, Code.INVALID_TOPIC_EXCEPTION]
    broker.delete_topic(broker.topics.by_name("a.b"))
    assert broker.topics.create("a_b", 1, {}).name == "a_b"


def test_a_request_for_too_many_partitions_creates_nothing(cluster):
    """As in Kafka: one policy for the whole request."""
    raw, prefix = Raw(cluster.bootstrap_servers), f"many-{uuid.uuid4().hex[:8]}"
    topics = [
        Fields(name=f"{prefix}-{number}", num_partitions=5001, replication_factor=1, assignments=(), configs=())
        for number in range(2)
    ]
    answer = raw.ask(CREATE_TOPICS, 5, topics=topics, timeout=30_000, validate_only=False)
    assert [(each["error_code"], each["error_message"]) for each in answer["topics"]] == [
        (Code.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    ] * 2
    names = [Fields(name=topic.name, topic_id=None) for topic in topics]
    asked = {"allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
    assert codes(raw.ask(METADATA, 9, topics=names, **asked)) == [Code.UNKNOWN_TOPIC_OR_PARTITION] * 2
    raw.close()


def test_a_stop_does_not_wait_for_an_unfinished_topic_creation(monkeypatch):
    """SIGTERM ends a broker that was asked about thousands of names."""
    begun, stopping, slowly = threading.Event(), threading.Event(), Topics.create_each

    def create_each(self, topics):
        begun.set()
        assert stopping.wait(20)
        threading.Event().wait(0.02)
        return slowly(self, topics)

    monkeypatch.setattr(Topics, "create_each", create_each)
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    stop = cluster._server.close
    monkeypatch.setattr(cluster._server, "close", lambda: (stopping.set(), stop()))
    raw = Raw(cluster.bootstrap_servers)
    topics = [Fields(name=f"t{number}", topic_id=None) for number in range(MAX_PARTITIONS_PER_REQUEST)]
    raw.send(METADATA, 9, topics=topics, allow_auto_topic_creation=True, include_topic_authorized_operations=False)
    assert begun.wait(20)
    cluster.close()
    assert len(list(cluster.broker.topics)) < MAX_PARTITIONS_PER_REQUEST
    raw.close()
