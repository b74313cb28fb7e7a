"""Transaction markers: which are accepted, and their effects."""

from __future__ import annotations

import pytest

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.log_errors import (
    CorruptMessageError,
    StaleProducerEpochError,
    TransactionCoordinatorFencedError,
)
from eosfw_memory.storage.records.batch import read_header
from eosfw_memory.storage.records.codec import decode_records, encode_batch, encode_record
from eosfw_memory.storage.records.markers import ending_of, marker, result_of
from eosfw_memory.storage.records.transaction_result import TransactionResult

from .log_harness import NOW, Writer


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


COMMIT, LEADER_CHANGE = bytes.fromhex("0000 0001"), bytes.fromhex("0000 0002")
OF_EPOCH_5 = bytes.fromhex("0000 00000005")


@pytest.mark.parametrize(
    ("batch", "ending"),
    [
        (marker(ProducerIdAndEpoch(7, 3), TransactionResult.ABORT, 5, NOW), (TransactionResult.ABORT, 5)),
        (encode_record(COMMIT, OF_EPOCH_5, NOW), (TransactionResult.COMMIT, 5)),
        (encode_record(COMMIT, OF_EPOCH_5 + b"more", NOW), (TransactionResult.COMMIT, 5)),
        (encode_record(COMMIT + b"more", OF_EPOCH_5[:-4] + b"\0\0\0\6", NOW), (TransactionResult.COMMIT, 6)),
        (encode_record(COMMIT, OF_EPOCH_5, NOW, (("name", b"value"),)), (TransactionResult.COMMIT, 5)),
        (encode_batch([COMMIT, LEADER_CHANGE], [OF_EPOCH_5, OF_EPOCH_5], NOW), (TransactionResult.COMMIT, 5)),
        (encode_record(LEADER_CHANGE, OF_EPOCH_5, NOW), None),
        (encode_record(None, OF_EPOCH_5, NOW), None),
    ],
    ids=["abort", "commit", "longer value", "longer key", "headers", "two records", "other kind", "no key"],
)
def test_an_ending_is_read_in_the_form_of_a_marker_and_in_any_other(batch, ending):
    """BRK-05: later versions may have more fields; a kind that is unknown ends nothing."""
    assert ending_of(batch, read_header(batch)) == ending


def test_a_marker_without_a_whole_epoch_is_refused():
    batch = encode_record(COMMIT, OF_EPOCH_5[:-1], NOW)

    with pytest.raises(CorruptMessageError, match="5 bytes, 6 are due"):
        ending_of(batch, read_header(batch))


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
