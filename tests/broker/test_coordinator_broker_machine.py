"""A whole broker under every order of requests, beside a model that knows only what a transaction means."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace as Request

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.waiting import ThreadRuntime
from eosfw_memory.broker import Broker, Context
from eosfw_memory.codes import Code, KafkaError
from eosfw_memory.coordinators.metadata import NO_EPOCH
from eosfw_memory.coordinators.states import Outcome
from eosfw_memory.log.batch import split
from eosfw_memory.log.codec import decode_records, encode_batch
from eosfw_memory.settings import Endpoint, Settings
from eosfw_memory.wire.requests import produce

TOPIC, NAME, PARTITIONS, WRITERS = "t", "x", 2, 3
TIMEOUT_MS = 60_000
writers, partitions = st.integers(0, WRITERS - 1), st.integers(0, PARTITIONS - 1)


@dataclass(eq=False)
class Deed:
    """What the model knows of a transaction: what was written, and what became of it (None: nothing yet)."""

    written: list[tuple[int, int, bytes]] = field(default_factory=list)
    outcome: Outcome | None = None
    age_ms: int = 0


@dataclass(eq=False)
class Writer:
    """A client with the ids it has in hand, which others may have overtaken."""

    producer: ProducerIdAndEpoch | None = None
    due: dict[int, int] = field(default_factory=dict)
    deed: Deed | None = None
    overtaken: bool = False
    """Somebody else was given the id, so nothing of this one may be appended any more."""


class BrokerMachine(RuleBasedStateMachine):
    """Invariants: committed readers see exactly the committed; the fenced never append; LSO never goes back; replay."""

    version = 2

    @initialize()
    def start(self):
        self.broker = Broker(
            Settings.parse({"transaction.version": str(self.version)}), Endpoint("127.0.0.1", 9092), ThreadRuntime()
        )
        self.broker.topics.create(TOPIC, PARTITIONS, {})
        self.writers = [Writer() for _ in range(WRITERS)]
        self.deeds: list[Deed] = []
        self.stable = [0] * PARTITIONS
        self.count = 0

    # --- what clients do

    @rule(number=writers)
    def init(self, number):
        known = self.broker.coordinator.describe(NAME)
        try:
            given = self.broker.coordinator.initialise(NAME, TIMEOUT_MS, None, self.broker.now_ms())
        except KafkaError as refused:
            if refused.code is not Code.CONCURRENT_TRANSACTIONS or known is None:
                raise
            self._abort_the_open()
        else:
            for writer in self.writers:
                writer.overtaken = True
            self.writers[number] = Writer(given)
        self.broker.settle()

    @rule(number=writers, partition=partitions, gap=st.sampled_from([0, 0, 0, 0, 1, -1]))
    def write(self, number, partition, gap):
        writer = self.writers[number]
        if writer.producer is None:
            return
        if self.version == 1 and not self._added(writer, partition):
            return
        due = writer.due.get(partition, 0)
        sequence = max(0, due + gap)
        self.count += 1
        value = b"%d" % self.count
        answer = self._produced(writer.producer, partition, sequence, value)
        if answer["error_code"] is Code.NONE and self._holds(partition, answer["base_offset"], value):
            assert not writer.overtaken, "one that was fenced has written"
            # Only version 2 insists that a first batch is the first.
            assert sequence == due or (self.version == 1 and not due), "a batch out of turn was appended"
            self._deed_of(writer).written.append((partition, answer["base_offset"], value))
            writer.due[partition] = sequence + 1

    @rule(number=writers, outcome=st.sampled_from(Outcome), lost=st.booleans())
    def end(self, number, outcome, lost):
        writer = self.writers[number]
        if writer.producer is None:
            return
        now_ms = self.broker.now_ms()
        try:
            if self.version == 1:
                self.broker.coordinator.end(NAME, writer.producer, outcome, now_ms)
                after = writer.producer
            else:
                after = self.broker.coordinator.end_bumping(NAME, writer.producer, outcome, now_ms)
        except KafkaError:
            self.broker.settle()
            return
        deed = writer.deed
        if deed is not None:
            assert deed.outcome in (None, outcome), "an end was answered well that went the other way"
            assert not writer.overtaken or deed.outcome is outcome, "one that was fenced has decided"
            deed.outcome = outcome
        if not lost and after != writer.producer:
            self.writers[number] = Writer(after, overtaken=writer.overtaken)
        elif not lost:
            writer.deed = None
        self.broker.settle()

    # --- what happens by itself

    @rule(seconds=st.sampled_from([1, 30, 61]))
    def time_goes_by(self, seconds):
        self.broker.jump(seconds)
        for deed in self.deeds:
            deed.age_ms += 1000 * seconds
        ended = {known.transactional_id for known in self.broker.coordinator.transactions() if known.state == 1}
        self.broker.sweep()
        still = {known.transactional_id for known in self.broker.coordinator.transactions() if known.state == 1}
        if ended - still:
            self._abort_the_open()

    @precondition(lambda self: self.deeds)
    @rule()
    def restart(self):
        self.broker.restart()

    # --- what must hold

    @invariant()
    def committed_readers_see_exactly_the_committed(self):
        if not hasattr(self, "broker"):
            return
        for partition in range(PARTITIONS):
            stable = self._log(partition).last_stable_offset
            wanted = [
                (offset, value)
                for deed in self.deeds
                if deed.outcome is Outcome.COMMIT
                for where, offset, value in deed.written
                if where == partition and offset < stable
            ]
            assert self._read(partition) == sorted(wanted)
            undecided = [
                offset
                for deed in self.deeds
                if deed.outcome is None
                for where, offset, _ in deed.written
                if where == partition
            ]
            assert stable == min(undecided, default=self._log(partition).high_watermark)

    @invariant()
    def the_last_stable_offset_never_goes_back(self):
        if not hasattr(self, "broker"):
            return
        now = [self._log(partition).last_stable_offset for partition in range(PARTITIONS)]
        assert all(after >= before for before, after in zip(self.stable, now, strict=True))
        self.stable = now

    @invariant()
    def replay_of_the_logs_gives_the_live_state(self):
        """COR-14, BRK: but for what Kafka, too, keeps in memory only."""
        if not hasattr(self, "broker") or not self.deeds:
            return
        before = self._state()
        self.broker.restart()
        assert self._state() == before

    # --- inside

    def _state(self):
        known = [each._replace(last_epoch=NO_EPOCH) for each in self.broker.coordinator.transactions()]
        logs = [self._log(partition) for partition in range(PARTITIONS)]
        return known, [
            (
                log.last_stable_offset,
                log.high_watermark,
                log.open_transactions(),
                {who: (state.epoch, state.last_sequence, state.first_offset) for who, state in log.producers().items()},
            )
            for log in logs
        ]

    def _abort_the_open(self):
        for deed in self.deeds:
            if deed.outcome is None:
                deed.outcome = Outcome.ABORT

    def _deed_of(self, writer):
        if writer.deed is None or writer.deed.outcome is not None:
            writer.deed = Deed()
            self.deeds.append(writer.deed)
        return writer.deed

    def _added(self, writer, partition):
        try:
            where = [TopicPartition(TOPIC, partition)]
            self.broker.coordinator.add_partitions(NAME, writer.producer, where, self.broker.now_ms())
        except KafkaError:
            return False
        assert not writer.overtaken, "one that was fenced has added a partition"
        return True

    def _produced(self, producer, partition, sequence, value):
        batch = encode_batch(
            None, [value], self.broker.now_ms(), producer=producer, base_sequence=sequence, transactional=True
        )
        data = [Request(name=TOPIC, partition_data=[Request(index=partition, records=batch)])]
        request = Request(transactional_id=NAME, acks=-1, topic_data=data)
        answer = self.broker.serve(produce.handle, request, Context(11 if self.version == 1 else 12))
        self.broker.settle()
        return answer["responses"][0]["partition_responses"][0]

    def _log(self, partition):
        return self.broker.topics.partition(TOPIC, partition).log

    def _holds(self, partition, offset, value):
        """Whether the answer is about this very batch, not about one of which it looked like a repetition."""
        return (offset, value) in self._uncommitted(partition)

    def _uncommitted(self, partition):
        return list(_records(self._log(partition).fetch(0, 1 << 30, IsolationLevel.READ_UNCOMMITTED).records))

    def _read(self, partition):
        """As Kafka's consumers read at read_committed: what aborted producers wrote is left out (CON-02)."""
        fetched = self._log(partition).fetch(0, 1 << 30, IsolationLevel.READ_COMMITTED)
        aborted = sorted((each.first_offset, each.producer_id) for each in fetched.aborted)
        shut, seen = set(), []
        for header, batch in split(fetched.records):
            while aborted and aborted[0][0] <= header.last_offset:
                shut.add(aborted.pop(0)[1])
            if header.control:
                shut.discard(header.producer_id)
            elif header.producer_id not in shut:
                seen += _records(batch)
        return seen


def _records(data):
    for header, batch in split(data):
        if not header.control:
            columns = decode_records(batch)
            yield from zip(columns.offsets, columns.values, strict=True)


class OldBrokerMachine(BrokerMachine):
    version = 1


MODEST = settings(max_examples=80, stateful_step_count=40, deadline=None)


@pytest.mark.parametrize("machine", [BrokerMachine, OldBrokerMachine], ids=["version 2", "version 1"])
def test_the_broker_keeps_its_promises_in_every_order(machine):
    """COR, BRK: see the invariants."""
    case = machine.TestCase
    case.settings = MODEST
    case().runTest()
