"""Which batches a partition accepts from a producer."""

from __future__ import annotations

import pytest

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.codes import Code
from eosfw_memory.common.log_errors import (
    InvalidRecordError,
    InvalidTimestampError,
    LogError,
    OutOfOrderSequenceNumberError,
    UnreadableRecordsError,
)
from eosfw_memory.storage.log.log_config import LogConfig
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.log.producer_state import Origin
from eosfw_memory.storage.records.batch import MAX_SEQUENCE, TimestampType, split
from eosfw_memory.storage.records.codec import decode_records, encode_batch

from .log_harness import NOW, PLENTY, UNCOMMITTED, Writer, new_log, patched, plain


def stored(log: PartitionLog) -> bytes:
    return log.fetch(0, PLENTY, UNCOMMITTED).records


class TestEpoch:
    def test_a_newer_epoch_does_not_count_older_batches_as_duplicates(self, log, writer):
        """BRK-01: same sequence numbers, another producer, before its first batch as well as behind it."""
        writer.send(b"a")
        writer.send(b"b")
        successor = Writer(log, 7, epoch=1)

        with pytest.raises(OutOfOrderSequenceNumberError):
            successor.send(b"B", sequence=1)
        assert not successor.send(b"A", b"AA", b"AAA").duplicate
        with pytest.raises(OutOfOrderSequenceNumberError):
            successor.send(b"B", sequence=1)


class TestSequence:
    def test_a_batch_that_only_overlaps_an_earlier_one_is_no_repetition(self, log, writer):
        """BRK-02: both ends of the range have to agree."""
        writer.send(b"x", b"y")

        with pytest.raises(OutOfOrderSequenceNumberError):
            writer.send(b"x", sequence=0)

    def test_sequence_numbers_wrap_to_zero_within_a_batch_and_between_two(self, log, writer):
        """PRD-07."""
        other = Writer(log, 8)
        other.send(b"a", b"b", sequence=MAX_SEQUENCE - 1)
        assert other.send(b"c", sequence=0).base_offset == 2
        writer.send(b"a", sequence=MAX_SEQUENCE - 1)

        wrapped = writer.send(b"b", b"c", b"d", sequence=MAX_SEQUENCE)
        writer.send(b"e", sequence=2)

        assert wrapped.base_offset == 4
        assert log.producers()[7].last_sequence == 2
        assert writer.send(b"b", b"c", b"d", sequence=MAX_SEQUENCE).duplicate

    def test_an_unknown_producer_may_begin_at_any_sequence_number(self, log, writer):
        """BRK-03: its state may have been forgotten; refusing would stop a healthy producer for good."""
        assert writer.send(b"a", sequence=41).base_offset == 0
        assert writer.send(b"b", sequence=42).base_offset == 1

    def test_a_coordinator_writes_for_a_producer_without_sequence_numbers(self, log):
        offsets = encode_batch(None, [b"o"], NOW, producer=ProducerIdAndEpoch(7, 0), transactional=True)

        log.append(offsets, NOW, origin=Origin.COORDINATOR)
        log.append(offsets, NOW, origin=Origin.COORDINATOR)

        assert log.last_stable_offset == 0
        assert log.high_watermark == 2


class TestBatches:
    def test_an_append_changes_only_the_base_offset_of_a_batch(self, log):
        first, second = plain(b"a", b"b"), plain(b"c")
        log.append(first, NOW)
        log.append(memoryview(b"..." + second)[3:], NOW)

        found = list(split(stored(log)))

        assert [(header.base_offset, header.leader_epoch) for header, _ in found] == [(0, 0), (2, 0)]
        assert [bytes(batch[16:]) for _, batch in found] == [first[16:], second[16:]]

    def test_every_refusal_carries_its_code(self):
        for leaf in LogError.__subclasses__():
            assert leaf("why").code is leaf.kafka_code
            assert (leaf.kafka_code is Code.UNKNOWN_SERVER_ERROR) is (leaf is UnreadableRecordsError)


class TestTime:
    def test_log_append_time_replaces_the_producers_time_and_updates_the_checksum(self):
        log = new_log(LogConfig(timestamp_type=TimestampType.LOG_APPEND_TIME))

        done = log.append(encode_batch(None, [b"a", b"b"], [1, 2]), NOW)

        assert done.log_append_time == NOW
        assert (found := log.offset_for_timestamp(NOW)) is not None
        assert found[:2] == (NOW, 0)  # decoding has checked the checksum

    def test_a_repeated_batch_reports_the_time_of_its_first_arrival(self):
        log = new_log(LogConfig(timestamp_type=TimestampType.LOG_APPEND_TIME))
        sent = Writer(log, 7).batch(b"a")
        log.append(sent, NOW)

        assert log.append(sent, NOW + 50).log_append_time == NOW

    def test_a_log_append_time_flag_set_by_a_producer_is_cleared(self, log):
        log.append(patched(plain(b"a"), 21, ">h", 0x08), NOW)

        assert next(split(stored(log)))[0].timestamp_type is TimestampType.CREATE_TIME

    @pytest.mark.parametrize("claimed", [NOW + 5, NOW - 5, -1])
    def test_max_timestamp_is_taken_from_the_records_instead_of_the_header(self, log, claimed):
        """Else a look-up by time would miss records, or retention keep them for ever."""
        log.append(patched(encode_batch(None, [b"a", b"b"], [NOW - 3, NOW - 1]), 35, ">q", claimed), NOW)

        assert next(split(stored(log)))[0].max_timestamp == NOW - 1
        assert log.offset_for_timestamp(NOW) is None
        assert decode_records(stored(log)).timestamps == [NOW - 3, NOW - 1]  # decoding checks the checksum

    @pytest.mark.parametrize(
        ("config", "timestamps", "error"),
        [
            (LogConfig(), [NOW, NOW + 3_600_001], InvalidTimestampError),
            (LogConfig(timestamp_before_max_ms=1000), [NOW - 1001, NOW], InvalidTimestampError),
            (LogConfig(compacted=True), [NOW, NOW], InvalidRecordError),
        ],
        ids=["ahead", "late", "without key"],
    )
    def test_records_of_eosfws_codec_are_validated_like_any_others(self, config, timestamps, error):
        """They are looked at less, since their header tells the truth; it does not tell all."""
        with pytest.raises(error):
            new_log(config).append(encode_batch(None, [b"a", b"b"], timestamps), NOW, encoded_in_process=True)
