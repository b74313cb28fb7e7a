"""Which offsets a commit states."""

from __future__ import annotations

import pytest

from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.errors import TaskFailedError
from eosfw.records import StoredPartition
from eosfw.state.pending_offsets import PendingOffsets

KEY = KafkaOffsetStore().partition_key


def test_the_last_offset_of_each_source_partition_wins():
    """TXN-04."""
    pending_offsets = PendingOffsets(KEY, {})
    for partition, offset in [("a", 1), ("b", 1), ("a", 2), ("a", 3), ("b", 2)]:
        pending_offsets.note({"p": partition}, {"o": offset})

    assert pending_offsets.items() == [({"p": "a"}, {"o": 3}), ({"p": "b"}, {"o": 2})]
    pending_offsets.committed()
    assert pending_offsets.items() == []


def test_a_stored_source_partition_is_handed_back_as_the_store_read_it():
    """OFF-01: another order of names would be another record of the compacted topic, beside the old one."""
    stored = StoredPartition({"table": "t", "shard": 1}, "c", [b"its key"])
    pending_offsets = PendingOffsets(KEY, {KEY(stored): (stored, {"o": 0})})

    pending_offsets.note({"shard": 1, "table": "t"}, {"o": 5})

    ((partition, offset),) = pending_offsets.items()
    assert partition is stored
    assert offset == {"o": 5}


def test_a_reused_mapping_is_not_taken_for_another_partition():
    """TXN-04: the shortcut for equal objects stays right when objects change turns."""
    pending_offsets, a, b = PendingOffsets(KEY, {}), {"p": "a"}, {"p": "b"}
    for number, partition in enumerate([a, a, b, a, b]):
        pending_offsets.note(partition, {"o": number})
    assert pending_offsets.items() == [(a, {"o": 3}), (b, {"o": 4})]


def test_a_task_may_change_the_mappings_it_returned_for_its_next_poll():
    """TXN-04: the offset is copied when the record is accepted."""
    pending_offsets, partition, offset = PendingOffsets(KEY, {}), {"p": "a"}, {"o": 1}
    pending_offsets.note(partition, offset)
    partition["p"], offset["o"] = "b", 9
    pending_offsets.note(partition, {"o": 2})

    assert pending_offsets.items() == [({"p": "a"}, {"o": 1}), ({"p": "b"}, {"o": 2})]


@pytest.mark.parametrize(("partition", "offset"), [(None, {}), ({}, 5), ("text", {}), ({"p": {1, 2}}, {})])
def test_a_source_partition_that_is_no_mapping_fails_the_task(partition, offset):
    """OFF-01."""
    with pytest.raises(TaskFailedError, match="no mapping"):
        PendingOffsets(KEY, {}).note(partition, offset)


def test_uncommitted_offsets_stay_pending_until_replaced():
    """TXN-16: a commit that failed forgets nothing; what came since wins."""
    book = PendingOffsets(KEY, {})
    book.note({"p": "a"}, {"o": 1})
    book.note({"p": "b"}, {"o": 1})
    failed = list(book.items())
    book.note({"p": "a"}, {"o": 2})

    assert failed == [({"p": "a"}, {"o": 1}), ({"p": "b"}, {"o": 1})]
    assert list(book.items()) == [({"p": "a"}, {"o": 2}), ({"p": "b"}, {"o": 1})]
    book.committed()
    assert list(book.items()) == []
