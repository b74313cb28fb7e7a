"""Transaction markers: which are accepted, and their effects."""

from __future__ import annotations

import pytest

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.log_errors import StaleProducerEpochError, TransactionCoordinatorFencedError
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.records.batch import read_header
from eosfw_memory.storage.records.codec import decode_records
from eosfw_memory.storage.records.markers import marker, result_of
from eosfw_memory.storage.records.transaction_result import TransactionResult

from .log_harness import COMMITTED, NOW, PLENTY, Consumer, Writer, new_log, plain


@pytest.fixture
def log() -> PartitionLog:
    return new_log()


@pytest.fixture
def writer(log: PartitionLog) -> Writer:
    return Writer(log, 7)


@pytest.mark.parametrize(("outcome", "kind"), [(TransactionResult.ABORT, "0000"), (TransactionResult.COMMIT, "0001")])
def test_a_marker_has_kafkas_bytes(outcome, kind):
    """BRK-05: written out field by field; the checksum is checked by reading it."""
    until_checksum = "0000000000000000 00000042 ffffffff 02"
    header = "0030 00000000 0000018bcfe56800 0000018bcfe56800 0000000000000007 0003 ffffffff 00000001"
    record = f"20 00 00 00 08 0000 {kind} 0c 0000 00000005 00"

    made = marker(ProducerIdAndEpoch(7, 3), outcome, 5, NOW)

    assert made[:17] == bytes.fromhex(until_checksum)
    assert made[21:] == bytes.fromhex(header + record)
    assert result_of(decode_records(made).keys[0]) is outcome
    assert read_header(made).control


def test_a_marker_takes_an_offset_and_moves_the_stable_offset_past_itself(log, writer):
    """BRK-05, BRK-06."""
    writer.send(b"a", b"b")
    assert (log.last_stable_offset, log.high_watermark) == (0, 2)

    assert writer.commit() == 2
    assert (log.last_stable_offset, log.high_watermark) == (3, 3)


def test_a_marker_without_data_changes_no_stable_offset_or_aborted_index(log, writer):
    """BRK-05."""
    other = Writer(log, 8)
    other.send(b"open")

    writer.abort()

    assert log.last_stable_offset == 0
    other.commit()
    assert log.fetch(0, PLENTY, COMMITTED).aborted == ()
    assert Consumer(log, COMMITTED).drain() == [(0, b"open")]


def test_a_marker_with_a_bumped_epoch_fences_the_zombie(log, writer):
    """BRK-05: a coordinator that times a transaction out raises the epoch with the abort marker."""
    writer.send(b"a")
    log.append_marker(ProducerIdAndEpoch(7, 1), TransactionResult.ABORT, 0, NOW)

    with pytest.raises(StaleProducerEpochError):
        writer.send(b"b")
    assert log.last_stable_offset == 2
    assert Writer(log, 7, epoch=1).send(b"c").base_offset == 2


def test_a_marker_of_an_older_producer_epoch_is_refused(log, writer):
    """BRK-05."""
    Writer(log, 7, epoch=2).send(b"a")

    with pytest.raises(StaleProducerEpochError):
        writer.abort()

    assert (log.last_stable_offset, log.high_watermark) == (0, 1)


def test_a_marker_of_an_older_coordinator_is_refused(log, writer):
    """BRK-05, COR-10: the coordinator moved, and its old self still tries to end a newer transaction."""
    writer.send(b"a")
    writer.commit(coordinator_epoch=5)
    writer.send(b"b")

    with pytest.raises(TransactionCoordinatorFencedError):
        writer.abort(coordinator_epoch=4)

    assert log.last_stable_offset == 2
    writer.commit(coordinator_epoch=5)
    assert log.last_stable_offset == 4


def test_duplicates_of_earlier_batches_are_detected_after_a_marker(log, writer):
    """BRK-02: a retry that crosses the end of its transaction must not be appended again."""
    first = writer.send(b"a")
    writer.commit()

    assert writer.send(b"a", sequence=0) == first._replace(duplicate=True)


def test_the_stable_offset_is_that_of_the_oldest_open_transaction(log):
    """BRK-06: and only of it, whichever ends first."""
    first, second, third = (Writer(log, pid) for pid in (1, 2, 3))
    log.append(plain(b"free"), NOW)
    for writer in (first, second, third):
        writer.send(b"x")

    seen = [log.last_stable_offset]
    for writer in (second, first, third):
        writer.commit()
        seen.append(log.last_stable_offset)

    assert seen == [1, 1, 3, 7]


def test_open_transactions_are_named_oldest_first(log):
    """KIP-664: the first one is what a stalled reader waits for."""
    for pid in (5, 3, 4):
        Writer(log, pid, epoch=pid).send(b"x")
    Writer(log, 3, epoch=3).commit()

    found = log.open_transactions()

    assert [(each.producer, each.first_offset) for each in found] == [
        (ProducerIdAndEpoch(5, 5), 0),
        (ProducerIdAndEpoch(4, 4), 2),
    ]
    assert found[0].last_timestamp == NOW
    assert [log.first_offset_of(pid) for pid in (5, 3, 4, 9)] == [0, None, 2, None]
