"""A whole broker under random requests, compared with a model of transactions."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.effort import EFFORTS, run_machine

from conformance import broker_state
from conformance.calls import commit_plain
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_memory.common.codes import Code
from eosfw_memory.storage.records.transaction_result import TransactionResult

from .broker_access import Direct, Killed, Socket
from .transaction_model import Model, Writer

TOPIC, NAME, GROUP, WRITERS = "t", "x", "g", 3
PARTITIONS = [TopicPartition(TOPIC, number) for number in range(2)]
TIMEOUT = 60.0
NOBODY = ProducerIdAndEpoch(987_654, 0)
OVER = (Code.PRODUCER_FENCED, Code.INVALID_PRODUCER_EPOCH, Code.INVALID_PRODUCER_ID_MAPPING)
writers, partitions = st.sampled_from([0, 0, 0, 1, 2]), st.sampled_from(range(len(PARTITIONS)))
offsets = st.integers(0, 99)


class BrokerMachine(RuleBasedStateMachine):
    """Invariants: committed readers see exactly the committed; the fenced never append; LSO never goes back; replay."""

    ground_of = Direct
    version = 2

    def __init__(self) -> None:
        super().__init__()
        self.ground = self.ground_of(self.version)
        self.ask.create(TOPIC, len(PARTITIONS))
        self.model = Model()
        self.writers = [Writer(NOBODY, overtaken=True) for _ in range(WRITERS)]
        self.next_sequence: dict[tuple[ProducerIdAndEpoch, int], int] = {}
        self.refused_places: set[tuple[int, int]] = set()
        """Where a producer has sent a batch out of turn since the last one that was appended, so that it may wait."""
        self.stable = [0] * len(PARTITIONS)
        self.values = 0

    def teardown(self) -> None:
        self.ground.close()

    @property
    def ask(self):
        return self.ground.caller

    @initialize(number=writers)
    def begin(self, number):
        self.init(number, named=False)

    # --- what clients do

    @rule(number=writers, named=st.booleans())
    def init(self, number, named):
        """COR-03, COR-05: fences other producers of the id; a repeat with the previous epoch gets the same answer."""
        expected = self.writers[number].producer if named else ProducerIdAndEpoch(-1, -1)
        known = broker_state.transaction(self.ask, NAME)
        reported = self.ask.init(NAME, expected, timeout=TIMEOUT)
        if reported.code is Code.NONE:
            assert known.state != "Ongoing", "an open transaction was taken over as if there were none"
            for writer in self.writers:
                writer.overtaken |= writer.producer != reported.producer
            self.writers[number] = Writer(reported.producer)
        elif reported.code is Code.CONCURRENT_TRANSACTIONS:
            assert known.state == "Ongoing"
            self.model.end(TransactionResult.ABORT)
        else:
            assert named, "a newcomer was refused"
            assert reported.code in OVER
            assert expected != known.producer, "the holder was refused"
        self.ask.settled(NAME)

    @rule(number=writers, partition=partitions, gap=st.sampled_from([0, 0, 0, 0, 1, -1]))
    def write(self, number, partition, gap):
        """PRD-07, BRK-01, BRK-02: what is in turn is appended, what comes out of turn or from the overtaken is not."""
        writer = self.writers[number]
        if self.version == 1 and not self._added(writer, partition):
            return
        next_sequence, place = (
            self.next_sequence.get((writer.producer, partition), 0),
            (writer.producer.producer_id, partition),
        )
        holds = broker_state.transaction(self.ask, NAME).producer == writer.producer
        sequence = max(0, next_sequence + gap)
        self.values += 1
        value = b"%d" % self.values
        api = 11 if self.version == 1 else 12
        reported = self.ask.produce(NAME, writer.producer, PARTITIONS[partition], sequence, api, value)
        if reported.code is Code.NONE and (reported.offset, value) in self._read(
            partition, IsolationLevel.READ_UNCOMMITTED
        ):
            assert not writer.overtaken, "one that was fenced has written"
            # Only version 2 insists that a first batch is the first.
            assert sequence == next_sequence or (self.version == 1 and not next_sequence), (
                "a batch out of turn was appended"
            )
            self.model.write(partition, reported.offset, value, writer.producer)
            self.next_sequence[writer.producer, partition] = sequence + 1
            self.refused_places.discard(place)
        else:
            assert not holds or sequence != next_sequence or place in self.refused_places, (
                f"the holder's next batch was refused: {reported}"
            )
            if sequence != next_sequence:
                self.refused_places.add(place)

    @rule(number=writers, partition=partitions)
    def write_outside(self, number, partition):
        """BRK-01, BRK-04: no coordinator is asked, so the partition alone keeps those off that were overtaken there."""
        writer = self.writers[number]
        self.values += 1
        # Whoever was overtaken tries as if it were the first batch of its epoch, which is where an epoch counts.
        next_sequence = 0 if writer.overtaken else self.next_sequence.get((writer.producer, partition), 0)
        value = b"%d" % self.values
        reported = self.ask.produce(None, writer.producer, PARTITIONS[partition], next_sequence, 12, value)
        if reported.code is not Code.NONE or (reported.offset, value) not in self._read(
            partition, IsolationLevel.READ_UNCOMMITTED
        ):
            return
        newest = self.model.newest(partition, writer.producer.producer_id)
        assert writer.producer.epoch >= newest, "one that was fenced has written"
        own = writer.producer.producer_id != NOBODY.producer_id
        assert not own or self.model.first_undecided(partition) is None, "in the midst of its own transaction"
        self.model.write(partition, reported.offset, value, writer.producer, transactional=False)
        self.next_sequence[writer.producer, partition] = next_sequence + 1
        self.refused_places.discard((writer.producer.producer_id, partition))

    @rule(number=writers, partition=partitions, offset=offsets, then=st.none() | offsets)
    def commit_offset(self, number, partition, offset, then):
        """GRP-01: with the transaction or not at all; never over what was committed outside of it since."""
        writer = self.writers[number]
        holds = broker_state.transaction(self.ask, NAME).producer == writer.producer
        if self.version == 1 and self.ask.add_offsets(NAME, writer.producer, GROUP).code is not Code.NONE:
            assert not holds
            return
        api = 3 if self.version == 1 else 5
        reported = self.ask.commit_offsets(NAME, writer.producer, GROUP, PARTITIONS[partition], api, offset=offset)
        assert (reported.code is Code.NONE) == holds, reported
        if reported.code is Code.NONE:
            assert not writer.overtaken, "one that was fenced has committed offsets"
            self.model.commit_offset(partition, offset, transactional=True)
            if then is not None:
                self.commit_offset_outside(partition, then)

    @rule(
        number=writers,
        partition=partitions,
        offset=offsets,
        then=st.none() | offsets,
        outcome=st.sampled_from(TransactionResult),
    )
    def move_on(self, number, partition, offset, then, outcome):
        """GRP-01: a whole transaction, since chance alone seldom makes one."""
        self.commit_offset(number, partition, offset, then)
        self.end(number, outcome, lost=False)

    @rule(partition=partitions, offset=offsets)
    def commit_offset_outside(self, partition, offset):
        assert commit_plain(self.ask, GROUP, PARTITIONS[partition], offset).code is Code.NONE
        self.model.commit_offset(partition, offset, transactional=False)

    @rule(number=writers, outcome=st.sampled_from(TransactionResult), lost=st.booleans())
    def end(self, number, outcome, lost):
        """COR-08, COR-09: a commit is answered well only if the transaction, or the one before, is committed."""
        writer, commit = self.writers[number], outcome is TransactionResult.COMMIT
        known = broker_state.transaction(self.ask, NAME)
        ongoing, holds = known.state == "Ongoing", known.producer == writer.producer
        reported = self.ask.end(NAME, writer.producer, 4 if self.version == 1 else 5, commit=commit)
        self.ask.settled(NAME)
        if reported.code is not Code.NONE:
            assert not (ongoing and holds), "the holder may always end its transaction"
            return
        if ongoing:
            assert not writer.overtaken, "one that was fenced has decided"
            self.model.end(outcome)
        elif commit:
            assert self.model.last is TransactionResult.COMMIT, "a commit was answered well that never was"
        elif self.version == 2 and holds:
            self.model.end(TransactionResult.ABORT)  # of nothing, yet from now on it is the one before
        if self.version == 2 and not lost:
            self.writers[number] = Writer(reported.producer, overtaken=writer.overtaken)

    # --- what happens by itself

    @precondition(lambda self: self.ground.has_clock)
    @rule(seconds=st.sampled_from([1, 30, 61]))
    def time_goes_by(self, seconds):
        """COR-15: what is open beyond its timeout is aborted."""
        before = broker_state.transaction(self.ask, NAME)
        self.ground.pass_time(seconds)
        self.ask.settled(NAME)
        after = broker_state.transaction(self.ask, NAME)
        if before.state == "Ongoing" and after.state != "Ongoing":
            assert after.producer.epoch > before.producer.epoch, "whoever held the id could write on"
            self.model.end(TransactionResult.ABORT)
        assert after.state != "Ongoing" or seconds < TIMEOUT

    @precondition(lambda self: not self.ground.replays)
    @rule()
    def start_anew(self):
        """COR-14, BRK-08: from what is kept on disk."""
        self._compare_with_a_replay()

    # --- what must hold

    @invariant()
    def committed_readers_see_exactly_the_committed(self):
        """CON-01, BRK-06."""
        for number, where in enumerate(PARTITIONS):
            _, stable, high = broker_state.ends(self.ask, where)
            undecided = self.model.first_undecided(number)
            assert stable == (high if undecided is None else undecided)
            assert self._read(number, IsolationLevel.READ_COMMITTED) == self.model.committed(number, stable)

    @invariant()
    def uncommitted_readers_see_all_but_markers(self):
        """CON-02."""
        for number in range(len(PARTITIONS)):
            assert self._read(number, IsolationLevel.READ_UNCOMMITTED) == self.model.written(number)

    @invariant()
    def the_last_stable_offset_never_goes_back(self):
        """BRK-06."""
        now = [broker_state.end(self.ask, where, IsolationLevel.READ_COMMITTED) for where in PARTITIONS]
        assert all(after >= before for before, after in zip(self.stable, now, strict=True))
        self.stable = now

    @invariant()
    def the_group_has_read_as_far_as_was_committed(self):
        """GRP-01, GRP-03."""
        for number, where in enumerate(PARTITIONS):
            expected = self.model.group_offset(number)
            assert broker_state.group_offset(self.ask, GROUP, where, stable=False) == expected
            reported = broker_state.group_offset(self.ask, GROUP, where, stable=True)
            assert reported == (Code.UNSTABLE_OFFSET_COMMIT if self.model.pending(number) else expected)

    @invariant()
    def replay_of_the_logs_gives_the_live_state(self):
        """COR-14, BRK-08."""
        if self.ground.replays:
            self._compare_with_a_replay()

    # --- inside

    def _compare_with_a_replay(self):
        before = self._shown()
        self.ground.restart()
        assert self._shown() == before

    def _shown(self):
        """All that the broker tells of its state."""
        writers = [
            sorted(
                (each["producer_id"], each["producer_epoch"], each["last_sequence"], each["current_txn_start_offset"])
                for each in self.ask.writers(where)
            )
            for where in PARTITIONS
        ]
        return (
            broker_state.transaction(self.ask, NAME),
            writers,
            [broker_state.ends(self.ask, where) for where in PARTITIONS],
        )

    def _added(self, writer, partition):
        holds = broker_state.transaction(self.ask, NAME).producer == writer.producer
        code = self.ask.add(NAME, writer.producer, PARTITIONS[partition]).code
        assert (code is Code.NONE) == holds
        assert code is not Code.NONE or not writer.overtaken, "one that was fenced has added a partition"
        return code is Code.NONE

    def _read(self, partition, level):
        return broker_state.records(self.ask, PARTITIONS[partition], level)


EXAMPLES = {Direct: (12, 30), Socket: (2, 25), Killed: (1, 12)}
"""Examples, steps: a socket costs ten times as much as a call, another process a second at each start."""


KILLED = pytest.param(Killed, 2, marks=pytest.mark.nightly)
PLACES = [(Direct, 2), (Direct, 1), (Socket, 2), (Socket, 1), KILLED]


@EFFORTS
@pytest.mark.parametrize(("ground", "version"), PLACES, ids=lambda each: getattr(each, "__name__", each))
def test_the_broker_keeps_its_invariants_in_any_order(ground, version, effort):
    """COR, BRK, GRP: see the invariants; the model is the same whatever leads to the broker."""
    examples, steps = EXAMPLES[ground]
    machine = type("Machine", (BrokerMachine,), {"ground_of": ground, "version": version})
    checked = 0

    class Counting(machine):
        def teardown(self):
            nonlocal checked
            checked += 1
            super().teardown()

    run_machine(Counting, examples * effort, steps)

    assert checked >= examples
