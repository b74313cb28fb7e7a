"""Compaction of its log leaves the state of a coordinator unchanged (COR-13, COR-14)."""

from __future__ import annotations

from eosfw.ids import TopicPartition
from eosfw_memory.server.broker.log_manager import LogManager
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.storage.records.transaction_result import TransactionResult

from ..brokers import durable_transactions, started

T0 = TopicPartition("t", 0)
A_DAY_MS = 86_400_000
SETTINGS = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
SMALL = {"internal.segment.bytes": "1000", "min.cleanable.dirty.ratio": "0"}


def small(root):
    """A broker whose transaction log is as it made it, but for the size of its segments."""
    broker = started(root, SETTINGS, t=1)
    own = broker.transaction_log()
    broker.topics.alter(own, {**own.config, **SMALL})
    return broker


def run(broker, name, outcome=None):
    """A transaction, which stays open without an outcome."""
    producer = broker.coordinator.initialise(name, 60_000, None, broker.now_ms())
    broker.coordinator.add_partitions(name, producer, [T0], broker.now_ms())
    if outcome is not None:
        broker.coordinator.end(name, producer, outcome, broker.now_ms())
        broker.settle()
    return producer


def log(broker):
    return broker.transaction_log().partitions[0].log


def test_a_compacted_log_rebuilds_the_coordinator(tmp_path):
    """COR-13, COR-14: each id's latest state stays however old it is, what came before it goes."""
    broker = small(tmp_path)
    run(broker, "once", TransactionResult.COMMIT)
    run(broker, "open")
    for number in range(40):
        run(broker, f"busy-{number % 3}", TransactionResult.COMMIT if number % 2 else TransactionResult.ABORT)
    before, size = durable_transactions(broker), log(broker).size

    care, now_ms = LogManager(broker.topics, broker.settings), broker.now_ms()
    for days in (0, 2, 30):
        care.compact(now_ms + days * A_DAY_MS)
        care.retain(now_ms + days * A_DAY_MS)
    assert log(broker).size < size / 2
    assert log(broker).log_start_offset == 0
    broker.close()

    again = small(tmp_path)
    assert durable_transactions(again) == before
    assert again.coordinator.describe("open").state is TransactionState.ONGOING
    next_holder = run(again, "once", TransactionResult.COMMIT)
    assert next_holder.epoch > next(each.epoch for each in before if each.transactional_id == "once")
    again.close()


def test_an_expired_id_stays_expired_after_a_compaction(tmp_path):
    """COR-16: its tombstone goes only after what it forgets."""
    broker = small(tmp_path)
    run(broker, "gone", TransactionResult.COMMIT)
    for name in broker.coordinator.expire(broker.now_ms() + 8 * A_DAY_MS):
        assert name == "gone"
    for number in range(40):
        run(broker, f"busy-{number % 3}", TransactionResult.COMMIT)

    care, now_ms = LogManager(broker.topics, broker.settings), broker.now_ms()
    for days in (0, 2, 4):
        care.compact(now_ms + days * A_DAY_MS)
        broker.restart()
        assert broker.coordinator.describe("gone") is None
    assert broker.coordinator.describe("busy-1").state is TransactionState.COMPLETE_COMMIT
    broker.close()
