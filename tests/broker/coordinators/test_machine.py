"""The coordinator under every order of requests, timeouts, failing appends, restarts."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from tests.effort import EFFORTS, run_machine

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.server.coordinators.transaction_metadata import LAST_CLIENT_EPOCH, NO_EPOCH, TransactionMetadata
from eosfw_memory.server.coordinators.transaction_state import PREDECESSORS, TRIGGERS, TransactionState
from eosfw_memory.storage.records.transaction_result import TransactionResult

from .coordinator_harness import CoordinatorHarness

NAMES = st.sampled_from(["a", "b"])
PARTITIONS = st.builds(TopicPartition, st.sampled_from(["x", "y"]), st.integers(0, 1))


class CoordinatorMachine(RuleBasedStateMachine):
    producers = Bundle("producers")

    version = 1

    def __init__(self) -> None:
        super().__init__()
        self.desk = CoordinatorHarness(version=self.version)
        self.desk.log.append("a", TransactionMetadata("a", 500, LAST_CLIENT_EPOCH - 3, 1000), 0)
        self.desk.coordinator.load()
        self.given: set[tuple[str, ProducerIdAndEpoch]] = set()
        self.loads = 0

    @rule(target=producers, name=NAMES)
    def init(self, name):
        return name, self._given(name, self.desk.init(name, timeout_ms=1000), fresh=True)

    @rule(target=producers, held=producers)
    def init_again(self, held):
        name, producer = held
        if not isinstance(producer, ProducerIdAndEpoch):
            return held
        return name, self._given(name, self.desk.init(name, expected=producer, timeout_ms=1000), fresh=False)

    @rule(held=producers, partition=PARTITIONS)
    def add(self, held, partition):
        name, producer = held
        if isinstance(producer, ProducerIdAndEpoch):
            answer = self.desk.add(producer, partition, name=name)
            assert answer is not Code.NONE or self.desk.known(name).producer == producer

    @rule(held=producers, outcome=st.sampled_from(TransactionResult))
    def end(self, held, outcome):
        name, producer = held
        if isinstance(producer, ProducerIdAndEpoch):
            answer = self.desk.end(producer, outcome, name=name)
            assert answer is not Code.NONE or self.desk.known(name).producer == producer

    @rule(target=producers, held=producers, outcome=st.sampled_from(TransactionResult))
    def end_with_epoch_bump(self, held, outcome):
        """COR-08: a successful response has the producer id and epoch of the coordinator now or after the markers."""
        name, producer = held
        if not isinstance(producer, ProducerIdAndEpoch):
            return held
        known = self.desk.coordinator.describe(name)
        if known is None:
            return held
        before = known.producer
        answer = self.desk.end_with_epoch_bump(producer, outcome, name=name)
        if isinstance(answer, ProducerIdAndEpoch):
            known = self.desk.known(name)
            assert answer in (known.producer, ProducerIdAndEpoch(known.next_producer_id, 0))
            assert answer.epoch <= LAST_CLIENT_EPOCH
            assert producer in (before, ProducerIdAndEpoch(before.producer_id, before.epoch - 1)) or answer == before
        return name, answer

    @rule()
    def finish(self):
        self.desk.finish()

    @rule(passed=st.sampled_from([1, 604_800_000]))
    def expire(self, passed):
        """COR-16: what is open or being decided survives any age."""
        self.desk.now_ms += passed
        before = {each.transactional_id: each.state for each in self.desk.coordinator.transactions()}
        for name in self.desk.coordinator.expire(self.desk.now_ms):
            assert TransactionState.DEAD in {after for state, after in TRIGGERS if state is before[name]}

    @rule(passed=st.integers(1, 2000))
    def run_due_tasks(self, passed):
        self.desk.now_ms += passed
        self.desk.coordinator.abort_timed_out(self.desk.now_ms)

    @rule()
    def break_or_mend_the_log(self):
        self.desk.log.broken = not self.desk.log.broken

    @rule()
    def restart(self):
        next_holder = CoordinatorHarness(
            self.desk.log, next_producer_id=10_000 * (self.loads + 1), version=self.version
        )
        next_holder.now_ms = self.desk.now_ms
        next_holder.coordinator.load()
        self.loads += 1
        self.desk = next_holder

    @rule(held=consumes(producers))
    def forget_a_producer(self, held):
        pass

    @invariant()
    def replay_gives_the_live_state(self):
        """COR-14: except the previous epoch, which Kafka keeps in memory only."""
        next_holder = CoordinatorHarness(self.desk.log)
        next_holder.coordinator.load()
        live = [known._replace(last_epoch=NO_EPOCH) for known in self.desk.coordinator.transactions()]

        assert sorted(next_holder.coordinator.transactions(), key=repr) == sorted(live, key=repr)

    @invariant()
    def every_logged_move_is_in_the_table(self):
        """COR-12: a logged PrepareAbort may have passed through PrepareEpochFence, which is never logged."""
        last: dict[str, TransactionState] = {}
        for name, metadata in self.desk.log.replay():
            if metadata is None:
                last.pop(name, None)
                continue
            if name in last:
                assert last[name] in PREDECESSORS[metadata.state]
            assert metadata.state is not TransactionState.PREPARE_EPOCH_FENCE
            last[name] = metadata.state

    @invariant()
    def epochs_never_go_back(self):
        """COR-03, 04: a producer id's epoch only rises, and the last one is never a client's."""
        last: dict[str, ProducerIdAndEpoch] = {}
        for name, metadata in self.desk.log.replay():
            if metadata is None:
                continue
            before = last.get(name)
            if before is not None and before.producer_id == metadata.producer_id:
                assert before.epoch <= metadata.epoch
            last[name] = metadata.producer

    def _given(self, name, answer, *, fresh):
        if isinstance(answer, ProducerIdAndEpoch):
            assert answer.epoch <= LAST_CLIENT_EPOCH
            assert not fresh or (name, answer) not in self.given, "two clients were given one epoch"
            self.given.add((name, answer))
        return answer


class BumpingCoordinatorMachine(CoordinatorMachine):
    version = 2


@EFFORTS
@pytest.mark.parametrize("machine", [CoordinatorMachine, BumpingCoordinatorMachine])
def test_the_coordinator_keeps_its_invariants_in_any_order(machine, effort):
    """COR-03, COR-04, COR-08, COR-12, COR-14, COR-16: see the invariants."""
    run_machine(machine, 30 * effort, steps=50)
