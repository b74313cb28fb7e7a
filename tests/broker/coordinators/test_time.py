"""Timers of the transaction coordinator: transaction timeouts and expiry of unused ids."""

from __future__ import annotations

import pytest

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.transaction_state import TransactionState
from eosfw_memory.storage.records.transaction_result import TransactionResult

from .coordinator_harness import FLIGHTS_0, CoordinatorHarness

COMMIT, ABORT = TransactionResult.COMMIT, TransactionResult.ABORT


@pytest.fixture
def desk():
    return CoordinatorHarness()


class TestTimeout:
    def test_a_transaction_open_beyond_its_timeout_is_aborted_and_its_holder_fenced(self, desk):
        """COR-15."""
        producer = desk.init(timeout_ms=1000)
        desk.add(producer)
        desk.now_ms += 1001

        assert desk.coordinator.abort_timed_out(desk.now_ms) == ["t"]
        desk.finish()

        assert desk.markers == [(FLIGHTS_0, ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1), ABORT)]
        assert desk.end(producer) is Code.PRODUCER_FENCED
        assert desk.add(producer) is Code.PRODUCER_FENCED

    def test_a_transaction_within_its_timeout_is_not_aborted(self, desk):
        """COR-15."""
        producer = desk.init(timeout_ms=1000)
        desk.add(producer)
        desk.now_ms += 1000

        assert desk.coordinator.abort_timed_out(desk.now_ms) == []
        assert desk.end(producer) is Code.NONE

    def test_only_ongoing_transactions_time_out(self, desk):
        """COR-15: a decided transaction does not time out."""
        producer = desk.init(timeout_ms=1000)
        desk.add(producer)
        desk.end(producer)
        desk.now_ms += 10_000

        assert desk.coordinator.abort_timed_out(desk.now_ms) == []
        assert desk.known().state is TransactionState.PREPARE_COMMIT

    def test_a_sweep_that_could_not_be_logged_costs_no_epoch(self, desk):
        """COR-15."""
        producer = desk.init(timeout_ms=1000)
        desk.add(producer)
        desk.now_ms += 1001
        desk.log.broken = True
        for _ in range(3):
            assert desk.coordinator.abort_timed_out(desk.now_ms) == []

        desk.log.broken = False
        assert desk.coordinator.abort_timed_out(desk.now_ms) == ["t"]
        assert desk.known().epoch == producer.epoch + 1


class TestExpiry:
    WEEK_MS = 604_800_000

    @pytest.mark.parametrize("outcome", [None, COMMIT, ABORT])
    def test_an_id_unused_for_a_week_is_expired_with_a_tombstone(self, desk, outcome):
        """COR-16: a returning producer gets INVALID_PRODUCER_ID_MAPPING, then a new producer id."""
        producer = desk.init()
        if outcome is not None:
            desk.run(producer, outcome)
        desk.now_ms += self.WEEK_MS

        assert desk.coordinator.expire(desk.now_ms) == ["t"]

        assert desk.coordinator.describe("t") is None
        assert desk.log.records[-1][1] is None
        assert desk.add(producer) is Code.INVALID_PRODUCER_ID_MAPPING
        assert desk.init().producer_id != producer.producer_id

    def test_an_id_in_use_does_not_expire(self, desk):
        """COR-16."""
        producer = desk.init()
        desk.now_ms += self.WEEK_MS - 1
        assert desk.coordinator.expire(desk.now_ms) == []

        desk.run(producer)
        desk.now_ms += self.WEEK_MS - 1
        assert desk.coordinator.expire(desk.now_ms) == []

    def test_an_open_or_decided_transaction_keeps_its_id_however_old(self, desk):
        """COR-16."""
        producer = desk.init()
        desk.add(producer)
        desk.now_ms += 10 * self.WEEK_MS
        assert desk.coordinator.expire(desk.now_ms) == []

        desk.end(producer)
        desk.now_ms += 10 * self.WEEK_MS
        assert desk.coordinator.expire(desk.now_ms) == []

    def test_an_id_stays_if_its_tombstone_cannot_be_written(self, desk):
        """COR-16."""
        producer = desk.init()
        desk.now_ms += self.WEEK_MS
        desk.log.broken = True
        assert desk.coordinator.expire(desk.now_ms) == []

        desk.log.broken = False
        assert desk.add(producer) is Code.NONE

    def test_a_replay_of_tombstones_restores_no_transactional_id(self, desk):
        """COR-13, COR-16."""
        for name in ("a", "b", "c"):
            desk.init(name)
        desk.now_ms += self.WEEK_MS
        desk.coordinator.expire(desk.now_ms)

        next_holder = CoordinatorHarness(desk.log)
        next_holder.coordinator.load()

        assert next_holder.coordinator.transactions() == []
