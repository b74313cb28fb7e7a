"""Version 2 of transactions: every end raises the epoch (KIP-890)."""

from __future__ import annotations

import pytest

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.transaction_metadata import LAST_CLIENT_EPOCH, LAST_EPOCH, TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.storage.records.transaction_result import TransactionResult

from .coordinator_harness import FLIGHTS_0, CoordinatorHarness

COMMIT, ABORT = TransactionResult.COMMIT, TransactionResult.ABORT
FENCED, STATE = Code.PRODUCER_FENCED, Code.INVALID_TXN_STATE


@pytest.fixture
def desk():
    return CoordinatorHarness(version=2)


def at(state: str, epoch: int = 5) -> CoordinatorHarness:
    """A coordinator whose id `t` holds producer 500."""
    wanted = next(each for each in TransactionState if each.label == state)
    desk = CoordinatorHarness(version=2)
    desk.log.append("t", TransactionMetadata("t", 500, epoch, 60_000, wanted, started_ms=1), 0)
    desk.coordinator.load()
    return desk


def after(epoch: int) -> ProducerIdAndEpoch:
    return ProducerIdAndEpoch(500, epoch)


@pytest.mark.parametrize("outcome", [COMMIT, ABORT])
@pytest.mark.parametrize(
    "state", ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"]
)
def test_an_end_two_epochs_below_is_no_repeated_end(state, outcome):
    """COR-08: it is fenced; while markers are being written Kafka does not look yet who asks."""
    expected = Code.CONCURRENT_TRANSACTIONS if state.startswith("Prepare") else FENCED

    assert at(state).end_with_epoch_bump(after(3), outcome) is expected


@pytest.mark.parametrize("outcome", [COMMIT, ABORT])
def test_markers_carry_the_bumped_epoch_and_fence_late_writes(desk, outcome):
    """COR-08, COR-19."""
    first = desk.init()
    desk.add(first)

    second = desk.end_with_epoch_bump(first, outcome)
    desk.finish()

    assert second == ProducerIdAndEpoch(first.producer_id, first.epoch + 1)
    assert desk.markers == [(FLIGHTS_0, second, outcome)]
    assert desk.add(first) is FENCED
    assert desk.add(second) is Code.NONE


def test_a_repeated_end_gets_the_same_answer_after_a_restart(desk):
    """COR-08: the client asks again with its old epoch, and would be fenced although its transaction ended."""
    first = desk.init()
    desk.add(first)
    second = desk.end_with_epoch_bump(first)
    assert desk.end_with_epoch_bump(first) is Code.CONCURRENT_TRANSACTIONS
    desk.finish()

    next_holder = CoordinatorHarness(desk.log, version=2)
    next_holder.coordinator.load()

    assert desk.end_with_epoch_bump(first) == next_holder.end_with_epoch_bump(first) == second
    assert len(desk.markers) == 1


def test_the_last_epoch_ends_in_a_new_producer_id(desk):
    """COR-04: the old one is marked with 32767, which no client ever had."""
    desk = at("Empty", LAST_CLIENT_EPOCH)
    last = after(LAST_CLIENT_EPOCH)
    desk.add(last)

    next_holder = desk.end_with_epoch_bump(last)
    assert next_holder == ProducerIdAndEpoch(1000, 0)
    assert desk.end_with_epoch_bump(last) is Code.CONCURRENT_TRANSACTIONS
    desk.finish()

    assert desk.markers == [(FLIGHTS_0, after(LAST_EPOCH), COMMIT)]
    assert desk.known().producer == next_holder
    assert desk.end_with_epoch_bump(last) == next_holder
    assert desk.end_with_epoch_bump(last, ABORT) is STATE
    assert desk.add(last) is Code.INVALID_PRODUCER_ID_MAPPING


def test_a_new_producer_id_survives_a_coordinator_that_dies_before_the_markers():
    """COR-04, COR-14: after a restart the client that asks again gets the very same."""
    desk = at("Empty", LAST_CLIENT_EPOCH)
    last = after(LAST_CLIENT_EPOCH)
    desk.add(last)
    promised = desk.end_with_epoch_bump(last)

    next_holder = CoordinatorHarness(desk.log, version=2, next_producer_id=2000)
    next_holder.coordinator.load()
    next_holder.finish()

    assert next_holder.known().producer == promised
    assert next_holder.end_with_epoch_bump(last) == promised


@pytest.mark.parametrize(
    ("epoch", "next_one"),
    [
        (5, after(7)),
        (LAST_CLIENT_EPOCH - 1, ProducerIdAndEpoch(1000, 0)),
        (LAST_CLIENT_EPOCH, ProducerIdAndEpoch(1000, 0)),
    ],
)
def test_fencing_an_open_transaction_never_runs_over_the_last_epoch(epoch, next_one):
    """COR-03, COR-04: raised once, to fence and to abort at the same time (KAFKA-19367)."""
    desk = at("Empty", epoch)
    desk.add(after(epoch))

    assert desk.init() is Code.CONCURRENT_TRANSACTIONS
    desk.finish()

    assert desk.markers == [(FLIGHTS_0, after(epoch + 1), ABORT)]
    assert desk.init() == next_one


def test_a_timed_out_producer_fails_its_commit_and_continues_after_an_abort(desk):
    """COR-15, KAFKA-20785: the commit had no effect, and the producer's new epoch fences no other producer."""
    producer = desk.init(timeout_ms=1000)
    desk.add(producer)
    desk.now_ms += 1001
    assert desk.coordinator.abort_timed_out(desk.now_ms) == ["t"]
    assert desk.end_with_epoch_bump(producer, COMMIT) is Code.CONCURRENT_TRANSACTIONS
    desk.finish()

    assert desk.end_with_epoch_bump(producer, COMMIT) is STATE
    assert desk.add(producer) is FENCED
    assert desk.end_with_epoch_bump(producer, ABORT) == ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1)
    assert [outcome for _, _, outcome in desk.markers] == [ABORT]


def test_an_end_that_could_not_be_logged_costs_no_epoch(desk):
    """COR-05 (KAFKA-9666)."""
    first = desk.init()
    desk.add(first)
    desk.log.broken = True
    assert [desk.end_with_epoch_bump(first) for _ in range(3)] == [Code.COORDINATOR_NOT_AVAILABLE] * 3

    desk.log.broken = False
    assert desk.end_with_epoch_bump(first) == ProducerIdAndEpoch(first.producer_id, first.epoch + 1)
