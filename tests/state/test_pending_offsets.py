"""Which offsets a commit states."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.errors import IllegalStateError, TaskFailedError
from eosfw.records import SourcePartition, StoredPartition
from eosfw.state.storage.pending_offsets import PendingOffsets

KEY = KafkaOffsetStore().partition_key


def test_a_stored_source_partition_is_handed_back_as_the_store_read_it():
    """OFF-01: another order of names would be another record of the compacted topic, beside the old one."""
    stored = StoredPartition({"table": "t", "shard": 1}, "c", [b"its key"])
    pending_offsets = PendingOffsets(KEY, {KEY(stored): (stored, {"o": 0})})

    pending_offsets.note({"shard": 1, "table": "t"}, {"o": 5})

    ((partition, offset),) = pending_offsets.begin_flush()
    assert partition is stored
    assert offset == {"o": 5}


def test_a_reused_mapping_is_not_taken_for_another_partition():
    """TXN-04: the shortcut for equal objects, one key for a run of them, stays right when objects change turns."""
    keys: list[str] = []

    def key_of(partition: SourcePartition) -> str:
        keys.append(KEY(partition))
        return keys[-1]

    pending_offsets, a, b = PendingOffsets(key_of, {}), {"p": "a"}, {"p": "b"}
    for number, partition in enumerate([a, a, b, a, b]):
        pending_offsets.note(partition, {"o": number})
    assert pending_offsets.begin_flush() == [(a, {"o": 3}), (b, {"o": 4})]
    assert keys == [KEY(one) for one in (a, b, a, b)]


def test_a_task_may_change_the_mappings_it_returned_for_its_next_poll():
    """TXN-04: the offset is copied when the record is accepted."""
    pending_offsets, partition, offset = PendingOffsets(KEY, {}), {"p": "a"}, {"o": 1}
    pending_offsets.note(partition, offset)
    partition["p"], offset["o"] = "b", 9
    pending_offsets.note(partition, {"o": 2})

    assert pending_offsets.begin_flush() == [({"p": "a"}, {"o": 1}), ({"p": "b"}, {"o": 2})]


@pytest.mark.parametrize(("first", "second"), [(1, True), (1, 1.0), (0.0, -0.0)])
def test_values_that_only_python_takes_for_equal_are_different_source_partitions(first, second):
    """OFF-01: their keys in the topic differ, so each has an offset of its own."""
    pending_offsets, partition = PendingOffsets(KEY, {}), {"p": first}
    pending_offsets.note(partition, {"o": 1})
    partition["p"] = second
    pending_offsets.note(partition, {"o": 2})

    assert repr(pending_offsets.begin_flush()) == repr([({"p": first}, {"o": 1}), ({"p": second}, {"o": 2})])


@pytest.mark.parametrize(
    ("partition", "offset", "why"),
    [
        (None, {}, "no mapping that can be stored"),
        ({}, 5, "no mapping that can be stored"),
        ("text", {}, "no mapping that can be stored"),
        ({"p": {1, 2}}, {}, r"^source partition \{'p': \{1, 2\}\} cannot be stored: .*set"),
    ],
)
def test_a_source_partition_that_cannot_be_stored_fails_the_task(partition, offset, why):
    """OFF-01."""
    with pytest.raises(TaskFailedError, match=why):
        PendingOffsets(KEY, {}).note(partition, offset)


class FlushMachine(RuleBasedStateMachine):
    """TXN-16: notes and flushes in any order, beside the list of all notes."""

    def __init__(self) -> None:
        super().__init__()
        self.pending_offsets = PendingOffsets(KEY, {})
        self.notes: list[tuple[str, int]] = []
        self.committed = 0
        """How many of the notes are committed."""
        self.flushing: int | None = None
        """How many notes there were when the flush under way began."""

    @rule(partition=st.sampled_from("abc"))
    def note(self, partition: str) -> None:
        self.notes.append((partition, len(self.notes)))
        self.pending_offsets.note({"p": partition}, {"o": len(self.notes) - 1})

    @rule()
    def begin(self) -> None:
        if self.flushing is not None:
            with pytest.raises(IllegalStateError, match="under way"):
                self.pending_offsets.begin_flush()
            return
        changes = self.pending_offsets.begin_flush()
        newest = {partition["p"]: offset["o"] for partition, offset in changes if offset}
        assert newest == dict(self.notes[self.committed :])
        self.flushing = len(self.notes)

    @precondition(lambda self: self.flushing is not None)
    @rule(succeeds=st.booleans())
    def end(self, *, succeeds: bool) -> None:
        if succeeds:
            self.pending_offsets.complete_flush()
            self.committed = self.flushing or 0
        else:
            self.pending_offsets.cancel_flush()
        self.flushing = None


TestFlushes = FlushMachine.TestCase
