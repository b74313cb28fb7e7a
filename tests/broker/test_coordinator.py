"""What the transaction coordinator answers, row by row of Kafka's behaviour."""

from __future__ import annotations

import pytest

from eosfw.errors import DamagedDataError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.codes import Code
from eosfw_memory.coordinators.metadata import LAST_CLIENT_EPOCH, TransactionMetadata
from eosfw_memory.coordinators.states import Outcome, TransactionState

from .coordinators import FLIGHTS_0, FLIGHTS_1, Desk

COMMIT, ABORT = Outcome.COMMIT, Outcome.ABORT


@pytest.fixture
def desk():
    return Desk()


def at_epoch(epoch: int) -> Desk:
    """A coordinator whose id `t` holds producer 500 at an epoch, at rest."""
    desk = Desk()
    desk.log.append("t", TransactionMetadata("t", 500, epoch, 60_000), 0)
    desk.coordinator.load()
    return desk


class TestInitProducerId:
    def test_a_new_id_gets_a_producer_id_of_its_own_at_epoch_0_that_is_logged(self, desk):
        """COR-02."""
        first, second = desk.init("a"), desk.init("b")

        assert first.epoch == second.epoch == 0
        assert first.producer_id != second.producer_id
        assert [metadata.producer for _, metadata in desk.log.replay()] == [first, second]

    def test_an_empty_id_is_an_invalid_request(self, desk):
        """COR-02."""
        assert desk.init("") is Code.INVALID_REQUEST

    @pytest.mark.parametrize("timeout_ms", [-1, 0, 900_001, 2**31 - 1])
    def test_a_timeout_outside_the_brokers_bounds_is_refused(self, desk, timeout_ms):
        """COR-02."""
        assert desk.init(timeout_ms=timeout_ms) is Code.INVALID_TRANSACTION_TIMEOUT
        assert desk.log.records == []

    @pytest.mark.parametrize("outcome", [None, COMMIT, ABORT])
    def test_an_id_at_rest_keeps_its_producer_id_and_rises_by_one_epoch(self, desk, outcome):
        """COR-03."""
        first = desk.init()
        if outcome is not None:
            desk.run(first, outcome)

        assert desk.init() == ProducerIdAndEpoch(first.producer_id, first.epoch + 1)

    def test_an_ongoing_transaction_is_aborted_with_a_raised_epoch_that_nobody_gets(self, desk):
        """COR-03: the client comes again and gets the epoch after."""
        first = desk.init()
        desk.add(first)

        assert desk.init() is Code.CONCURRENT_TRANSACTIONS
        desk.finish()

        assert desk.markers == [(FLIGHTS_0, ProducerIdAndEpoch(first.producer_id, first.epoch + 1), ABORT)]
        assert desk.init() == ProducerIdAndEpoch(first.producer_id, first.epoch + 2)

    @pytest.mark.parametrize("outcome", [COMMIT, ABORT])
    def test_a_decided_transaction_is_waited_for(self, desk, outcome):
        """COR-03."""
        first = desk.init()
        desk.add(first)
        desk.end(first, outcome)

        assert desk.init() is Code.CONCURRENT_TRANSACTIONS
        assert desk.known().state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

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

    def test_a_holder_that_names_its_epoch_is_given_the_next(self, desk):
        """COR-05."""
        first = desk.init()

        assert desk.init(expected=first) == ProducerIdAndEpoch(first.producer_id, first.epoch + 1)

    def test_a_repeated_bump_whose_answer_was_lost_is_answered_the_same(self, desk):
        """COR-05."""
        first = desk.init()
        second = desk.init(expected=first)

        assert desk.init(expected=first) == second
        assert desk.init(expected=first) == second

    def test_a_holder_of_an_older_epoch_is_fenced(self, desk):
        """COR-05."""
        first = desk.init()
        desk.init()

        assert desk.init(expected=first) is Code.PRODUCER_FENCED
        assert desk.init(expected=ProducerIdAndEpoch(999, 0)) is Code.PRODUCER_FENCED

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


class TestAddPartitions:
    def test_the_first_partition_starts_the_transaction_and_its_clock(self, desk):
        """COR-06."""
        producer = desk.init()
        desk.now_ms += 500

        assert desk.add(producer) is Code.NONE
        assert (desk.known().state, desk.known().started_ms) == (TransactionState.ONGOING, desk.now_ms)

    def test_more_partitions_leave_the_clock_alone(self, desk):
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

    def test_strangers_are_turned_away(self, desk):
        """COR-06."""
        producer = desk.init()

        assert desk.add(producer, name="other") is Code.INVALID_PRODUCER_ID_MAPPING
        assert desk.add(ProducerIdAndEpoch(999, 0)) is Code.INVALID_PRODUCER_ID_MAPPING
        for epoch in (producer.epoch - 1, producer.epoch + 1):
            assert desk.add(ProducerIdAndEpoch(producer.producer_id, epoch)) is Code.PRODUCER_FENCED

    def test_a_transaction_that_is_being_ended_takes_none(self, desk):
        """COR-06."""
        producer = desk.init()
        desk.add(producer)
        desk.end(producer)

        assert desk.add(producer, FLIGHTS_1) is Code.CONCURRENT_TRANSACTIONS


class TestEndTransaction:
    @pytest.mark.parametrize(
        ("state", "outcome", "answer"),
        [
            ("Empty", COMMIT, Code.INVALID_TXN_STATE),
            ("Empty", ABORT, Code.INVALID_TXN_STATE),
            ("Ongoing", COMMIT, Code.NONE),
            ("Ongoing", ABORT, Code.NONE),
            ("PrepareCommit", COMMIT, Code.CONCURRENT_TRANSACTIONS),
            ("PrepareCommit", ABORT, Code.CONCURRENT_TRANSACTIONS),
            ("PrepareAbort", ABORT, Code.CONCURRENT_TRANSACTIONS),
            ("PrepareAbort", COMMIT, Code.CONCURRENT_TRANSACTIONS),
            ("CompleteCommit", COMMIT, Code.NONE),
            ("CompleteCommit", ABORT, Code.INVALID_TXN_STATE),
            ("CompleteAbort", ABORT, Code.NONE),
            ("CompleteAbort", COMMIT, Code.INVALID_TXN_STATE),
        ],
    )
    def test_the_answer_hangs_on_the_state_and_the_wish(self, state, outcome, answer):
        """COR-08."""
        desk = Desk()
        wanted = next(each for each in TransactionState if each.label == state)
        desk.log.append("t", TransactionMetadata("t", 500, 0, 60_000, wanted, started_ms=1), 0)
        desk.coordinator.load()

        assert desk.end(ProducerIdAndEpoch(500, 0), outcome) is answer

    def test_a_commit_is_decided_when_prepare_is_logged_before_any_marker(self, desk):
        """COR-09."""
        producer = desk.init()
        desk.add(producer, FLIGHTS_0, FLIGHTS_1)

        assert desk.end(producer) is Code.NONE
        assert (desk.log.states()[-1], desk.markers) == ("PrepareCommit", [])

        desk.finish()
        assert desk.markers == [(FLIGHTS_0, producer, COMMIT), (FLIGHTS_1, producer, COMMIT)]
        assert (desk.log.states()[-1], desk.known().partitions) == ("CompleteCommit", frozenset())

    def test_only_the_exact_epoch_may_end(self, desk):
        """COR-08: a client may not be ahead of the coordinator either (KAFKA-9600)."""
        producer = desk.init()
        desk.add(producer)

        for epoch in (producer.epoch - 1, producer.epoch + 1):
            assert desk.end(ProducerIdAndEpoch(producer.producer_id, epoch)) is Code.PRODUCER_FENCED
        assert desk.end(ProducerIdAndEpoch(999, 0)) is Code.INVALID_PRODUCER_ID_MAPPING
        assert desk.end(producer, name="other") is Code.INVALID_PRODUCER_ID_MAPPING

    def test_markers_are_written_once_however_often_the_end_is_asked_for(self, desk):
        """COR-08."""
        producer = desk.init()
        desk.run(producer)
        desk.end(producer)
        desk.finish()
        desk.finish()

        assert len(desk.markers) == 1


class TestTimeout:
    def test_a_transaction_open_beyond_its_timeout_is_aborted_and_its_holder_fenced(self, desk):
        """COR-15."""
        producer = desk.init(timeout_ms=1000)
        desk.add(producer)
        desk.now_ms += 1001

        assert desk.coordinator.sweep(desk.now_ms) == ["t"]
        desk.finish()

        assert desk.markers == [(FLIGHTS_0, ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1), ABORT)]
        assert desk.end(producer) is Code.PRODUCER_FENCED
        assert desk.add(producer) is Code.PRODUCER_FENCED

    def test_a_transaction_within_its_timeout_goes_on(self, desk):
        """COR-15."""
        producer = desk.init(timeout_ms=1000)
        desk.add(producer)
        desk.now_ms += 1000

        assert desk.coordinator.sweep(desk.now_ms) == []
        assert desk.end(producer) is Code.NONE

    def test_only_ongoing_transactions_time_out(self, desk):
        """COR-15: what is decided stays decided."""
        producer = desk.init(timeout_ms=1000)
        desk.add(producer)
        desk.end(producer)
        desk.now_ms += 10_000

        assert desk.coordinator.sweep(desk.now_ms) == []
        assert desk.known().state is TransactionState.PREPARE_COMMIT

    def test_a_sweep_that_could_not_be_logged_costs_no_epoch(self, desk):
        """COR-15."""
        producer = desk.init(timeout_ms=1000)
        desk.add(producer)
        desk.now_ms += 1001
        desk.log.broken = True
        for _ in range(3):
            assert desk.coordinator.sweep(desk.now_ms) == []

        desk.log.broken = False
        assert desk.coordinator.sweep(desk.now_ms) == ["t"]
        assert desk.known().epoch == producer.epoch + 1


class TestReplay:
    def test_a_decided_transaction_gets_its_markers_after_a_restart(self, desk):
        """COR-14: the outcome was fixed, even if the coordinator died right after."""
        producer = desk.init()
        desk.add(producer, FLIGHTS_0, FLIGHTS_1)
        desk.end(producer)

        heir = Desk(desk.log)
        heir.coordinator.load()
        heir.finish()

        assert heir.markers == [(FLIGHTS_0, producer, COMMIT), (FLIGHTS_1, producer, COMMIT)]
        assert heir.known().state is TransactionState.COMPLETE_COMMIT

    def test_an_ongoing_transaction_goes_on_after_a_restart(self, desk):
        """COR-14."""
        producer = desk.init()
        desk.add(producer)

        heir = Desk(desk.log)
        heir.coordinator.load()

        assert heir.end(producer, ABORT) is Code.NONE

    def test_a_null_value_forgets_the_id(self, desk):
        """COR-13."""
        desk.init()
        desk.log.append("t", None, 0)
        desk.coordinator.load()

        assert desk.coordinator.describe("t") is None

    def test_an_epoch_that_goes_back_is_damage(self, desk):
        """COR-14."""
        for epoch in (5, 4):
            desk.log.append("t", TransactionMetadata("t", 500, epoch, 60_000), 0)

        with pytest.raises(DamagedDataError, match="'t' goes back from 5 to 4"):
            desk.coordinator.load()


class TestVerification:
    def test_a_write_counts_only_inside_the_holders_ongoing_transaction(self, desk):
        """COR-19."""
        producer = desk.init()
        assert verified(desk, producer, FLIGHTS_0) is Code.TRANSACTION_ABORTABLE

        desk.add(producer, FLIGHTS_0)
        assert verified(desk, producer, FLIGHTS_0) is Code.NONE
        assert verified(desk, producer, FLIGHTS_1) is Code.TRANSACTION_ABORTABLE
        assert verified(desk, ProducerIdAndEpoch(999, 0), FLIGHTS_0) is Code.INVALID_PRODUCER_ID_MAPPING

        desk.end(producer)
        assert verified(desk, producer, FLIGHTS_0) is Code.CONCURRENT_TRANSACTIONS


def verified(desk: Desk, producer: ProducerIdAndEpoch, where: TopicPartition) -> Code:
    return desk.coordinator.verify("t", producer, [where])[where]


class TestExpiry:
    WEEK_MS = 604_800_000

    @pytest.mark.parametrize("outcome", [None, COMMIT, ABORT])
    def test_an_id_that_rested_for_a_week_is_forgotten_with_a_tombstone(self, desk, outcome):
        """COR-16, F16: whoever comes back is told that the mapping is gone, and gets a producer id nobody had."""
        producer = desk.init()
        if outcome is not None:
            desk.run(producer, outcome)
        desk.now_ms += self.WEEK_MS

        assert desk.coordinator.expire(desk.now_ms) == ["t"]

        assert desk.coordinator.describe("t") is None
        assert desk.log.records[-1][1] is None
        assert desk.add(producer) is Code.INVALID_PRODUCER_ID_MAPPING
        assert desk.init().producer_id != producer.producer_id

    def test_an_id_that_was_used_since_stays(self, desk):
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

    def test_an_id_whose_tombstone_cannot_be_written_lives_on(self, desk):
        """COR-16."""
        producer = desk.init()
        desk.now_ms += self.WEEK_MS
        desk.log.broken = True
        assert desk.coordinator.expire(desk.now_ms) == []

        desk.log.broken = False
        assert desk.add(producer) is Code.NONE

    def test_a_replay_of_the_tombstones_knows_nobody(self, desk):
        """COR-13, COR-16."""
        for name in ("a", "b", "c"):
            desk.init(name)
        desk.now_ms += self.WEEK_MS
        desk.coordinator.expire(desk.now_ms)

        heir = Desk(desk.log)
        heir.coordinator.load()

        assert heir.coordinator.transactions() == []


class TestUnavailablePartitions:
    def test_a_transaction_waits_for_its_partition_while_others_complete(self, desk):
        """COR-11, F13: nothing is skipped, and Complete is logged once."""
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
