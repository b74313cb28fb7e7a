"""Log records and markers of the transaction coordinator, its timers, its state after a restart.

What it answers in each state is in `tests/conformance`.
"""

from __future__ import annotations

import pytest

from eosfw.errors import DamagedDataError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.transaction_metadata import LAST_CLIENT_EPOCH, TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.storage.records.transaction_result import TransactionResult

from .coordinator_harness import FLIGHTS_0, FLIGHTS_1, CoordinatorHarness

COMMIT, ABORT = TransactionResult.COMMIT, TransactionResult.ABORT
S = TransactionState
WEEK_MS = 604_800_000


@pytest.fixture
def desk():
    return CoordinatorHarness()


def at(state: TransactionState, epoch: int = 5, version: int = 2) -> CoordinatorHarness:
    """A coordinator whose id `t` holds producer 500."""
    desk = CoordinatorHarness(version=version)
    desk.log.append("t", TransactionMetadata("t", 500, epoch, 60_000, state, started_ms=1), 0)
    desk.coordinator.load()
    return desk


def restarted(desk: CoordinatorHarness, next_producer_id: int = 2000) -> CoordinatorHarness:
    """Another coordinator over the same log."""
    successor = CoordinatorHarness(desk.log, version=2, next_producer_id=next_producer_id)
    successor.coordinator.load()
    return successor


# --- requests


def test_a_new_id_gets_a_logged_producer_id_at_epoch_0(desk):
    """COR-02."""
    first, second = desk.init("a"), desk.init("b")

    assert first.epoch == second.epoch == 0
    assert first.producer_id != second.producer_id
    assert [metadata.producer for _, metadata in desk.log.replay()] == [first, second]


def test_the_first_partition_starts_the_clock_of_the_transaction(desk):
    """COR-06: a later one leaves it as it is, one that is in already is not logged again."""
    producer = desk.init()
    desk.now_ms += 500
    began_ms = desk.now_ms
    assert desk.add(producer, FLIGHTS_0) is Code.NONE
    desk.now_ms += 500
    assert desk.add(producer, FLIGHTS_1) is Code.NONE
    logged = len(desk.log.records)

    assert desk.add(producer, FLIGHTS_1) is Code.NONE

    assert (desk.known().state, desk.known().started_ms) == (S.ONGOING, began_ms)
    assert desk.known().partitions == {FLIGHTS_0, FLIGHTS_1}
    assert len(desk.log.records) == logged


def test_a_commit_is_decided_when_prepare_is_logged_before_any_marker(desk):
    """COR-08, COR-09: each marker comes once, however often the end is asked for."""
    producer = desk.init()
    desk.add(producer, FLIGHTS_0, FLIGHTS_1)

    assert desk.end(producer) is Code.NONE
    assert (desk.log.states()[-1], desk.markers) == ("PrepareCommit", [])

    desk.finish()
    desk.end(producer)
    desk.finish()
    assert desk.markers == [(FLIGHTS_0, producer, COMMIT), (FLIGHTS_1, producer, COMMIT)]
    assert (desk.log.states()[-1], desk.known().partitions) == ("CompleteCommit", frozenset())


def test_markers_are_written_in_the_order_of_their_partitions(desk):
    """COR-10: by whatever hashes a process has, so that one seed gives one run."""
    partitions = [TopicPartition(f"t{number}", 0) for number in range(8)]
    producer = desk.init()
    desk.add(producer, *reversed(partitions))

    desk.end(producer)
    desk.finish()

    assert [partition for partition, _, _ in desk.markers] == partitions


@pytest.mark.parametrize("outcome", [COMMIT, ABORT])
@pytest.mark.parametrize("state", [state for state in S if state not in (S.DEAD, S.PREPARE_EPOCH_FENCE)])
def test_an_end_two_epochs_below_is_no_repeated_end(state, outcome):
    """COR-08: it is fenced; while markers are being written Kafka does not look yet who asks."""
    expected = Code.CONCURRENT_TRANSACTIONS if state.label.startswith("Prepare") else Code.PRODUCER_FENCED

    assert at(state).end_with_epoch_bump(ProducerIdAndEpoch(500, 3), outcome) is expected


def test_a_repeated_rotation_whose_answer_was_lost_is_answered_the_same():
    """COR-05."""
    desk, last = at(S.EMPTY, LAST_CLIENT_EPOCH, version=1), ProducerIdAndEpoch(500, LAST_CLIENT_EPOCH)
    rotated = desk.init(expected=last)

    assert rotated == ProducerIdAndEpoch(1000, 0)
    assert desk.init(expected=last) == rotated


# --- after a restart


def test_a_restarted_coordinator_continues_decided_and_ongoing_transactions(desk):
    """COR-14: what was decided gets its markers, even if the coordinator died right after."""
    decided, ongoing = desk.init("decided"), desk.init("ongoing")
    desk.add(decided, FLIGHTS_0, FLIGHTS_1, name="decided")
    desk.add(ongoing, name="ongoing")
    desk.end(decided, name="decided")

    successor = restarted(desk)
    successor.finish()

    assert successor.markers == [(FLIGHTS_0, decided, COMMIT), (FLIGHTS_1, decided, COMMIT)]
    assert successor.known("decided").state is S.COMPLETE_COMMIT
    assert successor.end(ongoing, ABORT, name="ongoing") is Code.NONE


def test_a_decreasing_epoch_is_a_damage_error(desk):
    """COR-14."""
    for epoch in (5, 4):
        desk.log.append("t", TransactionMetadata("t", 500, epoch, 60_000), 0)

    with pytest.raises(DamagedDataError, match="'t' goes back from 5 to 4"):
        desk.coordinator.load()


# --- what no client asks for


def test_a_transaction_open_beyond_its_timeout_is_aborted_and_its_holder_fenced(desk):
    """COR-15: not one millisecond earlier, and never one that is decided."""
    producer, decided = desk.init(timeout_ms=1000), desk.init("decided", timeout_ms=1000)
    desk.add(producer)
    desk.add(decided, name="decided")
    desk.end(decided, name="decided")
    desk.now_ms += 1000
    assert desk.coordinator.abort_timed_out(desk.now_ms) == []
    desk.now_ms += 1

    assert desk.coordinator.abort_timed_out(desk.now_ms) == ["t"]
    desk.finish()

    fenced = ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1)
    assert desk.markers == [(FLIGHTS_0, decided, COMMIT), (FLIGHTS_0, fenced, ABORT)]
    assert desk.end(producer) is desk.add(producer) is Code.PRODUCER_FENCED


def test_expired_transactions_stay_open_only_if_logging_them_failed(desk):
    """COR-15: the next sweep tries them again, without another epoch."""
    holders = {name: desk.init(name) for name in ("a", "b", "c")}
    for name, holder in holders.items():
        desk.add(holder, name=name)
    desk.now_ms += 60_001
    desk.log.unwritable.add("b")

    assert desk.coordinator.abort_timed_out(desk.now_ms) == ["a", "c"]
    assert desk.known("b").producer == holders["b"]
    desk.log.unwritable.clear()
    assert desk.coordinator.abort_timed_out(desk.now_ms) == ["b"]
    assert desk.known("b").epoch == holders["b"].epoch + 1


def test_a_completion_waiting_for_its_partition_delays_no_other(desk):
    """COR-11: nor one whose Complete cannot be logged; nothing is skipped, and Complete is logged once."""
    for name, where in (("a", FLIGHTS_0), ("b", FLIGHTS_1), ("c", FLIGHTS_0)):
        holder = desk.init(name)
        desk.add(holder, where, name=name)
        desk.end(holder, name=name)
    desk.unwritable.add(FLIGHTS_1)
    desk.log.unwritable.add("c")

    for _ in range(10):
        desk.finish()
    assert [desk.known(name).state for name in "abc"] == [S.COMPLETE_COMMIT, S.PREPARE_COMMIT, S.PREPARE_COMMIT]
    desk.unwritable.clear()
    desk.log.unwritable.clear()
    desk.finish()
    assert [desk.known(name).state for name in "abc"] == [S.COMPLETE_COMMIT] * 3
    assert FLIGHTS_1 in {where for where, _, _ in desk.markers}
    assert desk.log.states().count("CompleteCommit") == 3


@pytest.mark.parametrize("outcome", [None, COMMIT, ABORT])
def test_an_id_unused_for_a_week_is_expired_with_a_tombstone(desk, outcome):
    """COR-13, COR-16: a returning producer gets INVALID_PRODUCER_ID_MAPPING, then a new producer id."""
    producer = desk.init()
    if outcome is not None:
        desk.run(producer, outcome)
    desk.now_ms += WEEK_MS - 1
    assert desk.coordinator.expire(desk.now_ms) == []
    desk.now_ms += 1

    assert desk.coordinator.expire(desk.now_ms) == ["t"]

    assert desk.log.records[-1][1] is None
    assert restarted(desk).coordinator.transactions() == desk.coordinator.transactions() == []
    assert desk.add(producer) is Code.INVALID_PRODUCER_ID_MAPPING
    assert desk.init().producer_id != producer.producer_id


def test_an_id_in_use_does_not_expire(desk):
    """COR-16: nor one with an open or a decided transaction, however old; nor one whose tombstone is not written."""
    producer = desk.init()
    for step in (desk.add, desk.end):
        assert step(producer) is Code.NONE
        desk.now_ms += 10 * WEEK_MS
        assert desk.coordinator.expire(desk.now_ms) == []
    desk.finish()
    desk.now_ms += WEEK_MS
    desk.log.broken = True
    assert desk.coordinator.expire(desk.now_ms) == []

    desk.log.broken = False
    assert desk.add(producer) is Code.NONE
