"""Retention deletes old segments with their aborted transactions, and no undecided records."""

from __future__ import annotations

import pytest

from eosfw_memory.storage.cleaner.retention import retain
from eosfw_memory.storage.log.log_config import LogConfig
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.log.transaction_index import AbortedTxn, TransactionIndex
from eosfw_memory.storage.records.batch import NO_TIMESTAMP
from eosfw_memory.storage.records.codec import encode_batch

from .log_harness import COMMITTED, NOW, PLENTY, UNCOMMITTED, Consumer, Writer, new_log, plain

LATER = NOW + 1000
SHORT_LIVED = LogConfig(segment_bytes=100, retention_ms=10)


@pytest.fixture
def log() -> PartitionLog:
    """A log with one batch per segment and a short retention time."""
    return new_log(SHORT_LIVED)


def test_aborted_transactions_are_forgotten_with_their_segments(log):
    """BRK-07: a log that drops its old segments does not grow by what was aborted in them."""
    writer = Writer(log, 7)
    for _ in range(200):
        writer.send(b"a")
        writer.abort()

    retain(log, LATER)

    assert len(log.state.aborted) == 1  # the active segment holds the last marker


@pytest.mark.parametrize("kept", [0, 1, 63, 64, 65, 200])
def test_retained_aborted_transactions_are_still_found(kept):
    """BRK-07: blocks of them may be passed over; they must be blocks of those that are left."""
    every, left = TransactionIndex(), TransactionIndex()
    entries = [
        AbortedTxn(number % 7, 10 * number - number % 3 * 400, 10 * number + 5, 10 * number) for number in range(200)
    ]
    for entry in entries:
        every.add(*entry)
    for entry in entries[200 - kept :]:
        left.add(*entry)
    every.forget_before(entries[200 - kept].marker_offset if kept else 1 << 40)
    every.add(9, 3000, 3005, 3006)
    left.add(9, 3000, 3005, 3006)

    for start in range(0, 3010, 37):
        assert every.between(start, start + 300) == left.between(start, start + 300)


def test_a_segment_with_undecided_records_is_never_deleted(log):
    """BRK-06: however old it is; else its reader would miss the beginning of a transaction that is committed later."""
    log.append(plain(b"old"), NOW)
    writer = Writer(log, 7)
    writer.send(b"first")
    for _ in range(5):
        log.append(plain(b"behind"), NOW)

    assert retain(log, LATER) == 1
    assert log.log_start_offset == 1
    writer.commit()

    reader = Consumer(log, COMMITTED)
    reader.position = log.log_start_offset
    assert reader.drain()[0] == (1, b"first")


def test_records_without_a_time_are_not_taken_for_old_ones(log):
    """BRK-07: a client may give -1 for the time of a record."""
    for _ in range(3):
        log.append(encode_batch(None, [b"a"], NO_TIMESTAMP), NOW)

    assert retain(log, LATER) == 0


def test_the_last_stable_offset_is_never_before_the_log_start(log):
    """BRK-06, DeleteRecords: a reader that begins where the log does is not sent before it."""
    writer = Writer(log, 7)
    writer.send(b"open")
    for _ in range(3):
        log.append(plain(b"behind"), NOW)
    log.delete_before(2)

    assert log.last_stable_offset == 2
    assert log.fetch(2, PLENTY, COMMITTED).last_stable_offset == 2
    assert log.fetch(2, PLENTY, COMMITTED).records == b""
    assert log.fetch(2, PLENTY, UNCOMMITTED).last_stable_offset == 2
    writer.abort()
    assert log.last_stable_offset == log.high_watermark


@pytest.mark.parametrize("ending", ["commit", "abort"])
def test_retention_removes_the_front_of_a_transaction_once_it_is_decided(ending):
    """CON-03, BRK-07: a segment is dropped when it is old, whatever transaction reaches out of it."""
    log = new_log(LogConfig(segment_bytes=90, retention_ms=1000))
    writer = Writer(log, 7)
    for value in (b"first", b"second", b"third"):
        writer.send(value)
    assert retain(log, NOW + 10_000) == 0  # its records are not decided yet
    writer.commit() if ending == "commit" else writer.abort()
    while log.log_start_offset < 2:
        log.delete_oldest_segment()

    reader = Consumer(log, COMMITTED)
    reader.position = log.log_start_offset

    assert [value for _, value in reader.drain()] == ([b"third"] if ending == "commit" else [])
