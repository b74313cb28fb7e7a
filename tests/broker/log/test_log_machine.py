"""A partition under every order of events, beside a model of thirty lines."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.effort import EFFORTS, run_machine

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.log_errors import (
    NonTransactionalBatchError,
    OutOfOrderSequenceNumberError,
    StaleProducerEpochError,
)
from eosfw_memory.storage.records.codec import encode_batch
from eosfw_memory.storage.records.transaction_result import TransactionResult

from .log_harness import COMMITTED, NOW, UNCOMMITTED, Consumer, new_log, plain

producers = st.integers(0, 3)
sizes = st.integers(1, 3)


class Model:
    """A slow and simple model: every offset with its visibility at each isolation level."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int | None, bytes]] = []  # state, producer id, value

    def add(self, state: str, producer_id: int | None, values: list[bytes]) -> None:
        self.rows += [(state, producer_id, value) for value in values]

    def end(self, producer_id: int, state: str) -> None:
        self.rows = [(state, *row[1:]) if row[:2] == ("open", producer_id) else row for row in self.rows]
        self.rows.append(("marker", None, b""))

    def is_open(self, producer_id: int) -> bool:
        return any(row[:2] == ("open", producer_id) for row in self.rows)

    def stable(self) -> int:
        return next((offset for offset, row in enumerate(self.rows) if row[0] == "open"), len(self.rows))

    def committed(self) -> list[tuple[int, bytes]]:
        rows = enumerate(self.rows[: self.stable()])
        return [(offset, value) for offset, (state, _, value) in rows if state == "committed"]

    def everything(self) -> list[tuple[int, bytes]]:
        return [(offset, value) for offset, (state, _, value) in enumerate(self.rows) if state != "marker"]


class PartitionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.log, self.model = new_log(), Model()
        self.epochs = dict.fromkeys(range(4), 0)
        self.sent: dict[int, list[tuple[int, bytes, int]]] = {pid: [] for pid in range(4)}  # sequence, batch, offset
        self.seen_stable, self.value = 0, 0
        self.reader = Consumer(self.log, COMMITTED, max_bytes=150)
        self.read: list[tuple[int, bytes | None]] = []

    def batch(self, pid: int, sequence: int, size: int, *, transactional: bool = True) -> tuple[bytes, list[bytes]]:
        values = [b"%d" % n for n in range(self.value, self.value + size)]
        self.value += size
        producer = ProducerIdAndEpoch(pid, self.epochs[pid])
        made = encode_batch(None, values, NOW, producer=producer, base_sequence=sequence, transactional=transactional)
        return made, values

    def next_sequence(self, pid: int) -> int:
        return self.sent[pid][-1][0] if self.sent[pid] else 0

    def accept(self, pid: int, size: int, *, transactional: bool) -> None:
        first = self.next_sequence(pid)
        batch, values = self.batch(pid, first, size, transactional=transactional)
        offset = self.log.append(batch, NOW).base_offset
        assert offset == len(self.model.rows)
        self.model.add("open" if transactional else "committed", pid, values)
        self.sent[pid].append((first + size, batch, offset))

    @rule(pid=producers, size=sizes)
    def send_in_transaction(self, pid, size):
        self.accept(pid, size, transactional=True)

    @rule(pid=producers, size=sizes)
    def send_outside_transaction(self, pid, size):
        if not self.model.is_open(pid):
            self.accept(pid, size, transactional=False)
            return
        batch, _ = self.batch(pid, self.next_sequence(pid), size, transactional=False)
        self.refused(batch, NonTransactionalBatchError)

    @rule(size=sizes)
    def send_as_nobody(self, size):
        values = [b"free%d" % n for n in range(size)]
        self.log.append(plain(*values), NOW)
        self.model.add("committed", None, values)

    @rule(pid=producers, back=st.integers(1, 7))
    def repeat(self, pid, back):
        if len(self.sent[pid]) < back:
            return
        _, batch, offset = self.sent[pid][-back]
        if back <= 5:
            again = self.log.append(batch, NOW)
            assert (again.base_offset, again.duplicate) == (offset, True)
        else:
            self.refused(batch, OutOfOrderSequenceNumberError)

    @rule(pid=producers, skipped=st.integers(1, 5))
    def send_with_a_gap(self, pid, skipped):
        if self.sent[pid]:
            batch, _ = self.batch(pid, self.next_sequence(pid) + skipped, 1)
            self.refused(batch, OutOfOrderSequenceNumberError)

    @rule(pid=producers, outcome=st.sampled_from(TransactionResult), fences=st.booleans())
    def end(self, pid, outcome, fences):
        if fences:
            self.epochs[pid] += 1
            self.sent[pid].clear()
        offset = self.log.append_marker(ProducerIdAndEpoch(pid, self.epochs[pid]), outcome, 0, NOW)
        assert offset == len(self.model.rows)
        self.model.end(pid, "committed" if outcome is TransactionResult.COMMIT else "aborted")

    @precondition(lambda self: any(self.epochs.values()))
    @rule(pid=producers)
    def wake_a_zombie(self, pid):
        if self.epochs[pid]:
            self.epochs[pid] -= 1
            batch, _ = self.batch(pid, 0, 1)
            self.epochs[pid] += 1
            self.refused(batch, StaleProducerEpochError)

    @rule()
    def read_on(self):
        self.read += self.reader.poll()

    def refused(self, batch: bytes, why: type[Exception]) -> None:
        try:
            self.log.append(batch, NOW)
        except why:
            return
        raise AssertionError(f"a batch was accepted that deserved {why.__name__}")

    @invariant()
    def offsets_agree(self):
        assert self.log.high_watermark == len(self.model.rows)
        assert self.log.last_stable_offset == self.model.stable()

    @invariant()
    def the_stable_offset_never_goes_back(self):
        """BRK-06."""
        assert self.log.last_stable_offset >= self.seen_stable
        self.seen_stable = self.log.last_stable_offset

    @invariant()
    def committed_readers_see_exactly_the_committed(self):
        """CON-01: a fresh reader, and one that has been reading all along in small fetches."""
        assert Consumer(self.log, COMMITTED).drain() == self.model.committed()
        upto = self.reader.position
        assert self.read == [row for row in self.model.committed() if row[0] < upto]

    @invariant()
    def uncommitted_readers_see_all_but_markers(self):
        """CON-02."""
        assert Consumer(self.log, UNCOMMITTED).drain() == self.model.everything()


@EFFORTS
def test_a_partition_agrees_with_its_model_in_any_order(effort):
    """BRK-01, BRK-02, BRK-04, BRK-05, BRK-06, BRK-07, CON-01, CON-02: see the rules and the invariants."""
    run_machine(PartitionMachine, 15 * effort)
