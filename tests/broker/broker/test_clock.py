"""A clock that moves back extends no timeout and makes no log refuse a record."""

from __future__ import annotations

from types import SimpleNamespace as Request

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.faults import FaultInjector, Jump
from eosfw_memory.server.broker.broker import Context
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.server.protocol.handlers.groups import list_groups
from eosfw_memory.storage.records.codec import decode_records, encode_batch

from ..brokers import Shifted, produced, started, transactional
from ..groups.coordinator_harness import joining

T0 = TopicPartition("t", 0)
HOUR, YEARS = 3600.0, 10 * 365 * 86400.0
TIMEOUT_MS = 60_000
SESSION_MS = 10_000


def begin(broker, name="x"):
    """A transaction with a record."""
    producer = broker.coordinator.initialise(name, TIMEOUT_MS, None, broker.now_ms())
    broker.coordinator.add_partitions(name, producer, [T0], broker.now_ms())
    assert produced(broker, transactional(broker, producer), transactional_id=name) is Code.NONE


def log(broker):
    return broker.topics.partition(*T0).log


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped meanwhile"])
@pytest.mark.parametrize("back", [HOUR, YEARS], ids=["an hour", "ten years"])
def test_a_transaction_times_out_although_the_clock_moves_back(tmp_path, back, stopped):
    """COR-15: by the wall clock it would stay open, and hold its readers back, for as long as that lags behind."""
    broker = started(tmp_path, t=1)
    begin(broker)
    if stopped:
        broker.close()
        broker = started(tmp_path, runtime=Shifted(-back), t=1)
    else:
        broker.jump(-back)

    broker.run_due_tasks()
    assert broker.coordinator.describe("x").state is TransactionState.ONGOING
    broker.jump(TIMEOUT_MS / 1000 + 1)
    broker.run_due_tasks()

    assert broker.coordinator.describe("x").state is TransactionState.COMPLETE_ABORT
    assert log(broker).last_stable_offset == log(broker).high_watermark
    broker.close()


def test_records_are_accepted_and_found_although_the_clock_moves_back(broker):
    """As in Kafka, whose logs tolerate a shift of time."""
    broker.topics.alter(broker.topics.by_name("t"), {"message.timestamp.type": "LogAppendTime"})
    before = broker.now_ms()
    log(broker).append(encode_batch(None, [b"a"], 1), broker.now_ms())

    broker.jump(-YEARS)
    begin(broker)

    assert log(broker).high_watermark == 2
    last = list(log(broker).batches())[-1]
    assert decode_records(last).timestamps[0] < before - (YEARS - HOUR) * 1000
    assert log(broker).offset_for_timestamp(before).offset == 0


def test_a_segment_is_rolled_in_time_although_the_clock_moves_back(broker):
    """Else it would grow, and be kept, for as long as the clock lags behind."""
    broker.topics.alter(broker.topics.by_name("t"), {"segment.ms": "60000"})
    log(broker).append(encode_batch(None, [b"a"], 1), broker.now_ms())

    broker.jump(-YEARS)
    broker.jump(61)
    log(broker).append(encode_batch(None, [b"b"], 1), broker.now_ms())

    assert len(log(broker).rolled_segments()) == 1


def joined(broker):
    """The id of a new member."""
    request = joining(session_timeout_ms=SESSION_MS, rebalance_timeout_ms=SESSION_MS, needs_known_id=False)
    return broker.groups.members.join("g", request, broker.now_ms())["member_id"]


def members(broker):
    [group] = broker.groups.groups()
    return set(group.members)


def test_a_silent_member_expires_although_the_clock_moves_back(broker):
    """GRP-02: the group would wait for a dead member for as long as the clock lags behind."""
    member_id = joined(broker)
    assert members(broker) == {member_id}

    broker.jump(-YEARS)
    broker.run_due_tasks()
    assert members(broker) == {member_id}
    broker.jump(SESSION_MS / 1000 + 1)
    broker.run_due_tasks()

    assert members(broker) == set()


def test_a_fault_may_set_the_clock_back(broker):
    """Clocks are set back in production, so authors must be able to test it."""
    before = broker.now_ms()
    FaultInjector(broker, ThreadRuntime()).add(Jump("before-ListGroups", seconds=-HOUR))

    broker.serve(list_groups.handle, Request(states_filter=(), types_filter=()), Context(5))

    assert broker.now_ms() < before - (HOUR - 60) * 1000
