"""Log records and markers of the transaction coordinator, and its state after a restart.

What it answers in each state is in `tests/conformance`.
"""

from __future__ import annotations

import pytest

from eosfw.errors import DamagedDataError
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.transaction_metadata import TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.storage.records.transaction_result import TransactionResult

from .coordinator_harness import FLIGHTS_0, FLIGHTS_1, CoordinatorHarness

COMMIT, ABORT = TransactionResult.COMMIT, TransactionResult.ABORT


@pytest.fixture
def desk():
    return CoordinatorHarness()


class TestAddPartitions:
    def test_the_first_partition_starts_the_transaction_and_its_clock(self, desk):
        """COR-06."""
        producer = desk.init()
        desk.now_ms += 500

        assert desk.add(producer) is Code.NONE
        assert (desk.known().state, desk.known().started_ms) == (TransactionState.ONGOING, desk.now_ms)

    def test_adding_partitions_keeps_the_transaction_start_time(self, desk):
        """COR-06."""
        producer = desk.init()
        desk.add(producer, FLIGHTS_0)
        started = desk.known().started_ms
        desk.now_ms += 500
        desk.add(producer, FLIGHTS_1)

        assert desk.known().started_ms == started
        assert desk.known().partitions == {FLIGHTS_0, FLIGHTS_1}

    def test_partitions_that_are_in_already_are_not_logged_again(self, desk):
        """COR-06."""
        producer = desk.init()
        desk.add(producer, FLIGHTS_0, FLIGHTS_1)
        logged = len(desk.log.records)

        assert desk.add(producer, FLIGHTS_1) is Code.NONE
        assert len(desk.log.records) == logged


class TestEndTransaction:
    def test_a_commit_is_decided_when_prepare_is_logged_before_any_marker(self, desk):
        """COR-09."""
        producer = desk.init()
        desk.add(producer, FLIGHTS_0, FLIGHTS_1)

        assert desk.end(producer) is Code.NONE
        assert (desk.log.states()[-1], desk.markers) == ("PrepareCommit", [])

        desk.finish()
        assert desk.markers == [(FLIGHTS_0, producer, COMMIT), (FLIGHTS_1, producer, COMMIT)]
        assert (desk.log.states()[-1], desk.known().partitions) == ("CompleteCommit", frozenset())

    def test_markers_are_written_once_however_often_the_end_is_asked_for(self, desk):
        """COR-08."""
        producer = desk.init()
        desk.run(producer)
        desk.end(producer)
        desk.finish()
        desk.finish()

        assert len(desk.markers) == 1


class TestReplay:
    def test_a_decided_transaction_gets_its_markers_after_a_restart(self, desk):
        """COR-14: the outcome was fixed, even if the coordinator died right after."""
        producer = desk.init()
        desk.add(producer, FLIGHTS_0, FLIGHTS_1)
        desk.end(producer)

        next_holder = CoordinatorHarness(desk.log)
        next_holder.coordinator.load()
        next_holder.finish()

        assert next_holder.markers == [(FLIGHTS_0, producer, COMMIT), (FLIGHTS_1, producer, COMMIT)]
        assert next_holder.known().state is TransactionState.COMPLETE_COMMIT

    def test_an_ongoing_transaction_continues_after_a_restart(self, desk):
        """COR-14."""
        producer = desk.init()
        desk.add(producer)

        next_holder = CoordinatorHarness(desk.log)
        next_holder.coordinator.load()

        assert next_holder.end(producer, ABORT) is Code.NONE

    def test_a_tombstone_removes_the_transactional_id(self, desk):
        """COR-13."""
        desk.init()
        desk.log.append("t", None, 0)
        desk.coordinator.load()

        assert desk.coordinator.describe("t") is None

    def test_a_decreasing_epoch_is_a_damage_error(self, desk):
        """COR-14."""
        for epoch in (5, 4):
            desk.log.append("t", TransactionMetadata("t", 500, epoch, 60_000), 0)

        with pytest.raises(DamagedDataError, match="'t' goes back from 5 to 4"):
            desk.coordinator.load()


class TestUnavailablePartitions:
    def test_a_transaction_waits_for_its_partition_while_others_complete(self, desk):
        """COR-11: nothing is skipped, and Complete is logged once."""
        waiting, ready = desk.init("waiting"), desk.init("ready")
        desk.add(waiting, FLIGHTS_0, FLIGHTS_1, name="waiting")
        desk.add(ready, FLIGHTS_0, name="ready")
        desk.unwritable.add(FLIGHTS_1)
        desk.end(waiting, name="waiting")
        desk.end(ready, name="ready")

        for _ in range(10):
            desk.finish()
        assert desk.known("waiting").state is TransactionState.PREPARE_COMMIT
        assert desk.known("ready").state is TransactionState.COMPLETE_COMMIT

        desk.unwritable.clear()
        desk.finish()
        assert desk.known("waiting").state is TransactionState.COMPLETE_COMMIT
        assert (FLIGHTS_1, waiting, COMMIT) in desk.markers
        assert desk.log.states().count("CompleteCommit") == 2
