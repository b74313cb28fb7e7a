"""Batches carry the leader epoch they were written in; where each epoch ends can be asked (KIP-101, KIP-320)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw_memory.storage.cleaner.compaction import compact
from eosfw_memory.storage.cleaner.retention import retain
from eosfw_memory.storage.log.leader_epochs import UNDEFINED, EpochEnd, EpochStart, end_of
from eosfw_memory.storage.log.log_config import LogConfig
from eosfw_memory.storage.log.partition_log import EARLIEST, LATEST
from eosfw_memory.storage.records.batch import header_at
from eosfw_memory.storage.records.codec import encode_batch

from .log_harness import NOW, new_log, plain, unhurried

LATER = NOW + 1_000_000_000
HISTORY = [EpochStart(2, 10), EpochStart(4, 20), EpochStart(6, 25)]


def led(log):
    """Leader epoch and first offset of every batch."""
    headers = (header_at(batch, 0) for batch in log.batches())
    return [(header.base_offset, header.leader_epoch) for header in headers]


@pytest.mark.parametrize(
    ("wanted", "end"),
    [
        (-1, UNDEFINED),
        (0, EpochEnd(0, 10)),
        (1, EpochEnd(1, 10)),
        (2, EpochEnd(2, 20)),
        (3, EpochEnd(2, 20)),
        (4, EpochEnd(4, 25)),
        (5, EpochEnd(4, 25)),
        (6, EpochEnd(6, 31)),
        (7, UNDEFINED),
        (2**31 - 1, UNDEFINED),
    ],
)
def test_the_end_offset_of_an_epoch_follows_kafkas_rules(wanted, end):
    """KIP-101, LeaderEpochFileCache.endOffsetFor: before the first, between, the latest, behind it."""
    assert end_of(HISTORY, wanted, 31) == end


@unhurried
@given(st.lists(st.tuples(st.sampled_from(["append", "lead", "roll"]), st.integers(1, 3)), max_size=40))
def test_the_epoch_history_equals_that_of_the_batches_across_segments(turns):
    """KIP-101: the history of all segments is what a walk over every batch finds, with the current epoch behind it."""
    log, epoch, starts = new_log(LogConfig(segment_ms=10)), 0, [EpochStart(0, 0)]
    now = NOW
    for what, number in turns:
        if what == "append":
            log.append(plain(*[b"x"] * number), now)
        elif what == "roll":
            now += 20
        else:
            epoch += number
            starts = [one for one in starts if one.start_offset < log.high_watermark]
            starts.append(EpochStart(epoch, log.high_watermark))
            log.assign_epoch(epoch)
    assert list(log.epochs()) == starts
    for base_offset, led_in in led(log):
        assert led_in == max(start.epoch for start in starts if start.start_offset <= base_offset)


def test_deleting_segments_deletes_their_leader_epochs():
    """KIP-101: the first epoch begins where the log does."""
    log = new_log(LogConfig(segment_bytes=100, retention_ms=0))
    for epoch in (0, 2, 4):
        log.assign_epoch(epoch)
        log.append(plain(b"a"), NOW)
    log.delete_before(1)
    assert list(log.epochs()) == [EpochStart(2, 1), EpochStart(4, 2)]
    assert retain(log, LATER) == 2
    assert list(log.epochs()) == [EpochStart(4, 2)]
    assert log.end_of_epoch(0) == EpochEnd(0, 2)


def test_compaction_keeps_the_history():
    """BRK-09, KIP-101: also of epochs of which nothing is left."""
    log = new_log(LogConfig(segment_bytes=100, compacted=True, deleted=False, min_dirty_ratio=0.0))
    for epoch in (0, 2, 4):
        log.assign_epoch(epoch)
        log.append(encode_batch([b"k"], [b"v"], NOW), NOW)
        log.append(encode_batch([b"k"], [b"w"], NOW), NOW)
    before = list(log.epochs())
    assert compact(log, LATER)
    assert list(log.epochs()) == before


def test_listed_offsets_carry_their_leader_epoch():
    """KIP-320, ListOffsets from version 4 on: the end in the current epoch, everything else in that of its batch."""
    log = new_log()
    log.append(plain(b"a"), NOW)
    log.assign_epoch(2)
    log.append(encode_batch(None, [b"b"], NOW + 5), NOW)
    log.assign_epoch(4)
    assert log.offset_for_timestamp(LATEST).leader_epoch == 4
    assert log.offset_for_timestamp(EARLIEST).leader_epoch == 0
    assert [log.offset_for_timestamp(at).leader_epoch for at in (NOW, NOW + 1)] == [0, 2]
    log.delete_before(1)
    assert log.offset_for_timestamp(EARLIEST).leader_epoch == 2
