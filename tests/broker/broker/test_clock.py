"""A clock that moves back extends no timeout and makes no log refuse a record."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace as Request

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import DelayedOperation
from eosfw_memory.faults import FaultInjector, Jump
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.settings import Endpoint, Settings
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.server.protocol.handlers import join_group, list_groups, produce
from eosfw_memory.storage.files.data_directory import DataDirectory
from eosfw_memory.storage.records.codec import decode_records, encode_batch

T0 = TopicPartition("t", 0)
HOUR, YEARS = 3600.0, 10 * 365 * 86400.0
TIMEOUT_MS = 60_000
SESSION_MS = 10_000


class Shifted(ThreadRuntime):
    """A runtime whose wall clock is shifted by an offset."""

    def __init__(self, shift: float = 0.0) -> None:
        self.shift = shift

    def wall(self) -> float:
        return super().wall() + self.shift


def started(root=None, shift=0.0, **config):
    storage = None if root is None else DataDirectory.open(root, waits=False, node_id=1)
    broker = Broker(Settings.parse({}), Endpoint("127.0.0.1", 9092), Shifted(shift), storage)
    if broker.topics.by_name("t") is None:
        broker.topics.create("t", 1, config)
    return broker


def begin(broker, name="x"):
    """A transaction with a record; gives its producer."""
    producer = broker.coordinator.initialise(name, TIMEOUT_MS, None, broker.now_ms())
    broker.coordinator.add_partitions(name, producer, [T0], broker.now_ms())
    batch = encode_batch(None, [b"v"], broker.now_ms(), producer=producer, base_sequence=0, transactional=True)
    request = Request(
        transactional_id=name,
        acks=-1,
        topic_data=[Request(name="t", partition_data=[Request(index=0, records=batch)])],
    )
    answer = broker.serve(produce.handle, request, Context(9))
    assert answer["responses"][0]["partition_responses"][0]["error_code"] is Code.NONE
    return producer


def state(broker, name="x"):
    return broker.coordinator.describe(name).state


def log(broker):
    return broker.topics.partition(*T0).log


@pytest.mark.parametrize("back", [HOUR, YEARS], ids=["an hour", "ten years"])
def test_a_transaction_open_at_shutdown_expires_although_the_clock_moved_back(tmp_path, back):
    """COR-15: it would hold its readers back for as long as the clock lags behind."""
    broker = started(tmp_path)
    begin(broker)
    broker.close()

    again = started(tmp_path, -back)
    again.run_due_tasks()
    assert state(again) is TransactionState.ONGOING
    again.jump(TIMEOUT_MS / 1000 + 1)
    again.run_due_tasks()

    assert state(again) is TransactionState.COMPLETE_ABORT
    assert log(again).last_stable_offset == log(again).high_watermark
    again.close()


@pytest.mark.parametrize("back", [HOUR, YEARS], ids=["an hour", "ten years"])
def test_a_transaction_times_out_although_the_clock_moves_back(back):
    """COR-15: by the wall clock it would stay open, and hold its readers back, for as long as that lags behind."""
    broker = started()
    begin(broker)

    broker.jump(-back)
    broker.run_due_tasks()
    assert state(broker) is TransactionState.ONGOING
    broker.jump(TIMEOUT_MS / 1000 + 1)
    broker.run_due_tasks()

    assert state(broker) is TransactionState.COMPLETE_ABORT


def test_records_are_accepted_and_found_although_the_clock_moves_back():
    """As in Kafka, whose logs tolerate a shift of time."""
    broker = started(**{"message.timestamp.type": "LogAppendTime"})
    before = broker.now_ms()
    log(broker).append(encode_batch(None, [b"a"], 1), broker.now_ms())

    broker.jump(-YEARS)
    begin(broker)

    assert log(broker).high_watermark == 2
    last = list(log(broker).batches())[-1]
    assert decode_records(last).timestamps[0] < before - (YEARS - HOUR) * 1000
    assert log(broker).offset_for_timestamp(before).offset == 0


def test_a_segment_is_rolled_in_time_although_the_clock_moves_back():
    """Else it would grow, and be kept, for as long as the clock lags behind."""
    broker = started(**{"segment.ms": "60000"})
    log(broker).append(encode_batch(None, [b"a"], 1), broker.now_ms())

    broker.jump(-YEARS)
    broker.jump(61)
    log(broker).append(encode_batch(None, [b"b"], 1), broker.now_ms())

    assert len(log(broker).rolled_segments()) == 1


def joined(broker, member_id=""):
    request = Request(
        group_id="g",
        session_timeout=dt.timedelta(milliseconds=SESSION_MS),
        rebalance_timeout=dt.timedelta(milliseconds=SESSION_MS),
        member_id=member_id,
        group_instance_id=None,
        protocol_type="consumer",
        protocols=[Request(name="range", metadata=b"")],
        reason=None,
    )
    answer = broker.serve(join_group.handle, request, Context(3))
    return broker.attempt(answer, expired=False) if isinstance(answer, DelayedOperation) else answer


def members(broker):
    [group] = broker.groups.groups()
    return set(group.members)


def test_a_silent_member_expires_although_the_clock_moves_back():
    """GRP-02: the group would wait for a dead member for as long as the clock lags behind."""
    broker = started()
    member_id = joined(broker)["member_id"]
    assert members(broker) == {member_id}

    broker.jump(-YEARS)
    broker.run_due_tasks()
    assert members(broker) == {member_id}
    broker.jump(SESSION_MS / 1000 + 1)
    broker.run_due_tasks()

    assert members(broker) == set()


def test_a_fault_may_set_the_clock_back():
    """Clocks are set back in production, so authors must be able to test it."""
    broker = started()
    before = broker.now_ms()
    FaultInjector(broker, ThreadRuntime()).add(Jump("before-ListGroups", seconds=-HOUR))

    broker.serve(list_groups.handle, Request(states_filter=(), types_filter=()), Context(5))

    assert broker.now_ms() < before - (HOUR - 60) * 1000
