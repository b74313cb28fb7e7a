"""Handlers answer callers inside the process by the same door as the wire."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace as Request

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import DelayedOperation
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.settings import Endpoint, Settings
from eosfw_memory.server.network.frames import FrameDecoder, FrameError
from eosfw_memory.server.protocol.handlers import fetch, produce
from eosfw_memory.storage.records.codec import encode_batch
from eosfw_memory.storage.records.transaction_result import TransactionResult

T0 = TopicPartition("t", 0)


@pytest.fixture
def broker():
    made = Broker(Settings.parse({}), Endpoint("127.0.0.1", 9092), ThreadRuntime())
    made.topics.create("t", 1, {})
    return made


@pytest.fixture
def producer(broker):
    return broker.coordinator.initialise("x", 60_000, None, broker.now_ms())


def written(broker, producer):
    batch = encode_batch(None, [b"v"], broker.now_ms(), producer=producer, base_sequence=0, transactional=True)
    data = Request(index=0, records=batch)
    request = Request(transactional_id="x", acks=-1, topic_data=[Request(name="t", partition_data=[data])])
    answer = broker.serve(produce.handle, request, Context(9))
    return answer["responses"][0]["partition_responses"][0]["error_code"]


def add(broker, producer):
    broker.coordinator.add_partitions("x", producer, [T0], broker.now_ms())


class TestVerification:
    def test_an_older_epoch_is_refused_before_anything_was_written(self, broker, producer):
        """BRK-01."""
        next_holder = broker.coordinator.initialise("x", 60_000, None, broker.now_ms())
        add(broker, next_holder)

        assert written(broker, producer) is Code.INVALID_PRODUCER_EPOCH

    def test_a_write_during_marker_writes_is_retried_later(self, broker, producer):
        add(broker, producer)
        broker.coordinator.end("x", producer, TransactionResult.COMMIT, broker.now_ms())

        assert written(broker, producer) is Code.NOT_ENOUGH_REPLICAS


class TestLongPoll:
    def poll(self, broker, *, committed, max_wait_ms=60_000):
        wanted = Request(partition=0, fetch_offset=0, partition_max_bytes=1_000_000)
        request = Request(
            max_wait=dt.timedelta(milliseconds=max_wait_ms),
            min_bytes=1,
            isolation_level=committed,
            topics=[Request(topic="t", partitions=[wanted])],
        )
        return broker.serve(fetch.handle, request, Context(4))

    def test_a_fetch_of_an_empty_log_waits_for_an_append(self, broker, producer):
        deferred, woken = self.poll(broker, committed=0), []
        assert isinstance(deferred, DelayedOperation)
        broker.await_answer(deferred, lambda: woken.append(True))
        assert broker.attempt(deferred, expired=False) is None

        add(broker, producer)
        written(broker, producer)

        assert woken
        assert broker.attempt(deferred, expired=False)["responses"][0]["partitions"][0]["records"]

    def test_a_read_committed_fetch_waits_for_the_marker(self, broker, producer):
        """BRK-06."""
        deferred = self.poll(broker, committed=1)
        add(broker, producer)
        written(broker, producer)
        assert broker.attempt(deferred, expired=False) is None

        broker.coordinator.end("x", producer, TransactionResult.COMMIT, broker.now_ms())
        assert broker.attempt(deferred, expired=False) is None
        broker.settle()

        assert broker.attempt(deferred, expired=False)["responses"][0]["partitions"][0]["last_stable_offset"] == 2

    def test_a_fetch_that_times_out_is_answered_empty(self, broker):
        deferred = self.poll(broker, committed=0)

        assert broker.attempt(deferred, expired=True)["responses"][0]["partitions"][0]["records"] == ()

    def test_a_waiter_that_timed_out_is_not_woken(self, broker, producer):
        deferred, woken = self.poll(broker, committed=0), []
        broker.await_answer(deferred, lambda: woken.append(True))
        broker.give_up(deferred)
        add(broker, producer)
        written(broker, producer)

        assert woken == []


@pytest.mark.parametrize("length", [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\x0b"])
def test_a_frame_outside_the_bounds_is_refused_by_its_length_alone(length):
    decoder = FrameDecoder(max_bytes=10)
    decoder.free_buffer()[: len(length)] = length

    with pytest.raises(FrameError):
        decoder.received(len(length))


def test_the_transaction_log_rebuilds_the_coordinator_from_its_topic(broker, producer):
    """COR-13, COR-14: through the real log, over all its partitions."""
    add(broker, producer)
    written(broker, producer)
    broker.coordinator.end("x", producer, TransactionResult.COMMIT, broker.now_ms())
    before = broker.coordinator.transactions()

    broker.coordinator.load()

    assert broker.coordinator.transactions() == before
    broker.settle()
    assert broker.topics.partition(*T0).log.last_stable_offset == 2
    assert broker.coordinator.verify("x", ProducerIdAndEpoch(producer.producer_id, 0), T0) is not Code.NONE
