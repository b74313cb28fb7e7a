"""Transactions, compactions and restarts in any order, beside a model (BRK-09)."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.effort import EFFORTS, run_machine

from eosfw_memory.storage.cleaner.compaction import compact
from eosfw_memory.storage.records.transaction_result import TransactionResult

from ..log.log_harness import COMMITTED, NOW, UNCOMMITTED, Consumer
from .compaction import RULES, Keyed
from .data_directory_harness import DataDirectoryHarness, leave_logs_alone


class CompactingMachine(RuleBasedStateMachine):
    """Transactions, aborts, compactions, restarts in any order, beside a list of what was committed."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="eosfw-"))
        self.house = DataDirectoryHarness(self.root, **RULES)
        self.writers = [Keyed(self.house.log, pid) for pid in range(3)]
        self.open: dict[int, list[tuple[int, bytes, bytes | None]]] = {}
        self.committed: list[tuple[int, bytes, bytes | None]] = []
        self.hours, self.count = 0, itertools.count()

    @property
    def log(self):
        return self.house.log

    @rule(pid=st.integers(0, 2), keys=st.lists(st.sampled_from([b"a", b"b", b"c", b"d"]), min_size=1, max_size=3))
    def write(self, pid, keys):
        records = [(key, b"%d" % next(self.count)) for key in keys]
        offset = self.writers[pid].send(*records)
        self.open.setdefault(pid, []).extend((offset + at, *record) for at, record in enumerate(records))

    @rule(pid=st.integers(0, 2), key=st.sampled_from([b"a", b"b"]))
    def remove(self, pid, key):
        offset = self.writers[pid].send((key, None))
        self.open.setdefault(pid, []).append((offset, key, None))

    @rule(pid=st.integers(0, 2), outcome=st.sampled_from(TransactionResult))
    def end(self, pid, outcome):
        if pid in self.open:
            self.writers[pid].end(outcome)
            records = self.open.pop(pid)
            self.committed = sorted(self.committed + (records if outcome is TransactionResult.COMMIT else []))

    @rule(hours=st.sampled_from([0, 1, 30]))
    def clean(self, hours):
        self.hours += hours
        compact(self.log, NOW + self.hours * 3_600_000)

    @rule(clean=st.booleans(), bare=st.booleans())
    def restart(self, clean, bare):
        self.house.stop() if clean else self.house.crash()
        if bare:
            leave_logs_alone(self.root)
        self.house = DataDirectoryHarness(self.root)
        for writer in self.writers:
            writer.log = self.log

    def read(self, level, max_bytes):
        reader, rows = Consumer(self.log, level, max_bytes), []
        end = self.log.visible_end(level)
        while reader.position < end:
            before = reader.position
            rows += reader.poll()
            if reader.position == before:
                break
        return rows

    @precondition(lambda self: self.log.high_watermark)
    @invariant()
    def readers_see_the_latest_of_each_key_and_nothing_aborted(self):
        """At both isolation levels, in one fetch or batch by batch."""
        stable = self.log.last_stable_offset
        truth = {offset: value for offset, _, value in self.committed}
        for max_bytes in (1, 1 << 20):
            rows = self.read(COMMITTED, max_bytes)
            assert all(truth.get(offset, "aborted") == value for offset, value in rows)
            seen = dict(rows)
            latest = {key: (offset, value) for offset, key, value in self.committed if offset < stable}
            assert all(offset in seen or value is None for offset, value in latest.values())
        unsure = {offset: value for rows in self.open.values() for offset, _, value in rows}
        below = self.log.first_dirty_offset
        dirty = [(offset, value) for offset, value in self.read(UNCOMMITTED, 1 << 20) if offset < below]
        assert all({**truth, **unsure}.get(offset, "aborted") == value for offset, value in dirty)

    @invariant()
    def open_transactions_are_known(self):
        assert {pid for _, pid in self.log.state.open} == set(self.open)

    def teardown(self):
        self.house.crash()
        shutil.rmtree(self.root)


@EFFORTS
def test_a_compacted_log_agrees_with_its_model_in_any_order(effort):
    """BRK-09, CON-03: see the invariants."""
    run_machine(CompactingMachine, 15 * effort)
