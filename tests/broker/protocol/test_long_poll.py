"""A fetch waits for records, for markers, or until its time is over."""

from __future__ import annotations

import pytest

from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import DelayedOperation
from eosfw_memory.storage.records.transaction_result import TransactionResult

from ..brokers import fetched, produced, transactional

T0 = TopicPartition("t", 0)


@pytest.fixture
def producer(broker):
    return broker.coordinator.initialise("x", 60_000, None, broker.now_ms())


def write(broker, producer):
    """The first record of the transaction."""
    broker.coordinator.add_partitions("x", producer, [T0], broker.now_ms())
    assert produced(broker, transactional(broker, producer), transactional_id="x") is Code.NONE


def poll(broker, *, committed):
    """A fetch that may wait for the first record of topic t."""
    return fetched(broker, 0, -1, {0: 0}, max_wait_ms=60_000, isolation_level=committed)


def test_a_fetch_of_an_empty_log_waits_for_an_append(broker, producer):
    deferred, woken = poll(broker, committed=0), []
    assert isinstance(deferred, DelayedOperation)
    broker.await_answer(deferred, lambda: woken.append(True))
    assert broker.attempt(deferred, expired=False) is None

    write(broker, producer)

    assert woken
    assert broker.attempt(deferred, expired=False)["responses"][0]["partitions"][0]["records"]


def test_a_read_committed_fetch_waits_for_the_marker(broker, producer):
    """BRK-06."""
    deferred = poll(broker, committed=1)
    write(broker, producer)
    assert broker.attempt(deferred, expired=False) is None

    broker.coordinator.end("x", producer, TransactionResult.COMMIT, broker.now_ms())
    assert broker.attempt(deferred, expired=False) is None
    broker.settle()

    assert broker.attempt(deferred, expired=False)["responses"][0]["partitions"][0]["last_stable_offset"] == 2


def test_a_fetch_that_times_out_is_answered_empty(broker):
    deferred = poll(broker, committed=0)

    assert broker.attempt(deferred, expired=True)["responses"][0]["partitions"][0]["records"] == ()


def test_a_waiter_that_timed_out_is_not_woken(broker, producer):
    deferred, woken = poll(broker, committed=0), []
    broker.await_answer(deferred, lambda: woken.append(True))
    broker.give_up(deferred)
    write(broker, producer)

    assert woken == []
