"""The producer of a transactional id after repeated, fencing and epoch-exhausting InitProducerId requests.

What it answers in each state is in `tests/conformance`.
"""

from __future__ import annotations

import pytest

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.transaction_metadata import LAST_CLIENT_EPOCH, TransactionMetadata
from eosfw_memory.storage.records.transaction_result import TransactionResult

from .coordinator_harness import FLIGHTS_0, CoordinatorHarness

COMMIT, ABORT = TransactionResult.COMMIT, TransactionResult.ABORT


@pytest.fixture
def desk():
    return CoordinatorHarness()


def at_epoch(epoch: int) -> CoordinatorHarness:
    """A coordinator whose id `t` holds producer 500 at an epoch, at rest."""
    desk = CoordinatorHarness()
    desk.log.append("t", TransactionMetadata("t", 500, epoch, 60_000), 0)
    desk.coordinator.load()
    return desk


class TestInitProducerId:
    def test_a_new_id_gets_a_logged_producer_id_at_epoch_0(self, desk):
        """COR-02."""
        first, second = desk.init("a"), desk.init("b")

        assert first.epoch == second.epoch == 0
        assert first.producer_id != second.producer_id
        assert [metadata.producer for _, metadata in desk.log.replay()] == [first, second]

    @pytest.mark.parametrize("timeout_ms", [-1, 0, 900_001, 2**31 - 1])
    def test_a_timeout_outside_the_brokers_bounds_is_refused(self, desk, timeout_ms):
        """COR-02."""
        assert desk.init(timeout_ms=timeout_ms) is Code.INVALID_TRANSACTION_TIMEOUT
        assert desk.log.records == []

    def test_initialisation_aborts_an_open_transaction_with_an_unassigned_epoch(self, desk):
        """COR-03: the client comes again and gets the epoch after."""
        first = desk.init()
        desk.add(first)

        assert desk.init() is Code.CONCURRENT_TRANSACTIONS
        desk.finish()

        assert desk.markers == [(FLIGHTS_0, ProducerIdAndEpoch(first.producer_id, first.epoch + 1), ABORT)]
        assert desk.init() == ProducerIdAndEpoch(first.producer_id, first.epoch + 2)

    def test_when_the_epochs_run_out_a_new_producer_id_begins_at_0(self):
        """COR-04."""
        desk = at_epoch(LAST_CLIENT_EPOCH)

        after = desk.init()

        assert (after.producer_id, after.epoch) == (1000, 0)
        assert desk.known().previous_producer_id == 500

    def test_the_very_last_epoch_is_kept_for_fencing(self):
        """COR-04: 32767 ends what the holder of 32766 left open."""
        desk = at_epoch(LAST_CLIENT_EPOCH)
        desk.add(ProducerIdAndEpoch(500, LAST_CLIENT_EPOCH))

        assert desk.init() is Code.CONCURRENT_TRANSACTIONS
        desk.finish()

        assert desk.markers == [(FLIGHTS_0, ProducerIdAndEpoch(500, 32767), ABORT)]
        assert desk.init() == ProducerIdAndEpoch(1000, 0)

    def test_a_repeated_bump_whose_answer_was_lost_is_answered_the_same(self, desk):
        """COR-05."""
        first = desk.init()
        second = desk.init(expected=first)

        assert desk.init(expected=first) == second
        assert desk.init(expected=first) == second

    def test_a_repeated_rotation_whose_answer_was_lost_is_answered_the_same(self):
        """COR-05."""
        desk = at_epoch(LAST_CLIENT_EPOCH)
        last = ProducerIdAndEpoch(500, LAST_CLIENT_EPOCH)
        rotated = desk.init(expected=last)

        assert rotated == ProducerIdAndEpoch(1000, 0)
        assert desk.init(expected=last) == rotated

    def test_a_fencing_that_could_not_be_logged_costs_no_epoch(self, desk):
        """COR-05: however often it fails, the one that succeeds is one above the holder (KAFKA-9666)."""
        first = desk.init()
        desk.add(first)
        desk.log.broken = True
        assert [desk.init() for _ in range(3)] == [Code.COORDINATOR_NOT_AVAILABLE] * 3

        desk.log.broken = False
        desk.init()
        desk.finish()

        assert desk.markers[0][1].epoch == first.epoch + 1
