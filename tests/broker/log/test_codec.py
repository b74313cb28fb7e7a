"""Records into bytes, bytes into records."""

from __future__ import annotations

import gzip
import struct
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.codes import KafkaError
from eosfw_memory.common.log_errors import CorruptMessageError, MessageTooLargeError, UnsupportedCompressionTypeError
from eosfw_memory.storage.records.batch import HEADER, read_header, split
from eosfw_memory.storage.records.codec import decode_records, encode_batch, encode_record
from eosfw_memory.storage.records.compression import unpack
from eosfw_memory.storage.records.varints import VARINT, encoded, read

from .log_harness import NOW, patched, plain, unhurried

NOBODY = ProducerIdAndEpoch(-1, -1)
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4

data = st.none() | st.binary(max_size=200) | st.sampled_from([b"k" * 63, b"k" * 64, b"v" * 8191, b"v" * 8192])
header_lists = st.lists(st.tuples(st.text(max_size=9), st.none() | st.binary(max_size=9)), max_size=3).map(tuple)
times = st.integers(0, 2**45) | st.integers(NOW - 9, NOW + 9)
records = st.lists(st.tuples(data, data, times, header_lists), min_size=1, max_size=30)


def compressed(batch: bytes, codec: int, packed: bytes) -> bytes:
    """The batch with its records replaced by packed ones."""
    whole = bytearray(batch[: HEADER.size] + packed)
    struct.pack_into(">i", whole, 8, len(whole) - 12)
    return patched(bytes(whole), 21, ">h", codec)


def kafka_batch(rows: list[tuple[Any, ...]], producer: ProducerIdAndEpoch = NOBODY, *, transactional: bool) -> bytes:
    """The same records by kafka-python; a producer begins at sequence number 11."""
    reference = pytest.importorskip("kafka.record.default_records")
    builder = reference.DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=transactional,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=-1 if producer is NOBODY else 11,
        batch_size=1 << 30,
    )
    for offset, (key, value, timestamp, headers) in enumerate(rows):
        builder.append(offset, timestamp, key, value, list(headers))
    return bytes(builder.build())


def encode(rows: list[tuple[Any, ...]], **more: Any) -> bytes:
    keys, values, timestamps, headers = (list(column) for column in zip(*rows, strict=True))
    return encode_batch(keys, values, timestamps, headers=headers, **more)


def without_leader_epoch(batch: bytes) -> bytes:
    """Java's producers write -1 there, kafka-python 0; the broker overwrites either."""
    return batch[:12] + batch[16:]


class TestAgainstKafkaPython:
    @unhurried
    @given(records, st.booleans())
    def test_batches_are_equal_byte_for_byte(self, rows, transactional):
        producer = ProducerIdAndEpoch(7, 3)

        ours = encode(rows, producer=producer, base_sequence=11, transactional=transactional)

        theirs = kafka_batch(rows, producer, transactional=transactional)
        assert without_leader_epoch(ours) == without_leader_epoch(theirs)

    @pytest.mark.parametrize("size", [1, 63, 64, 65, 1000, 1001, 8192, 8193, 20_000])
    def test_batches_of_any_length_are_equal_byte_for_byte(self, size):
        rows = [(b"key", b"value", NOW, ())] * size

        ours = encode_batch([b"key"] * size, [b"value"] * size, NOW)

        assert without_leader_epoch(ours) == without_leader_epoch(kafka_batch(rows, transactional=False))

    @unhurried
    @given(records, st.booleans())
    def test_a_lone_record_is_equal_byte_for_byte(self, rows, transactional):
        producer = ProducerIdAndEpoch(7, 3)

        ours = encode_record(*rows[0], producer=producer, base_sequence=11, transactional=transactional)

        theirs = kafka_batch(rows[:1], producer, transactional=transactional)
        assert without_leader_epoch(ours) == without_leader_epoch(theirs)

    @unhurried
    @given(records)
    def test_batches_of_kafka_python_are_read_unchanged(self, rows):
        found = decode_records(kafka_batch(rows, ProducerIdAndEpoch(1, 0), transactional=True))

        headers = found.headers or [()] * len(rows)
        assert list(zip(found.keys, found.values, found.timestamps, headers, strict=True)) == rows
        assert found.offsets == list(range(len(rows)))
        assert (found.headers is None) == all(not row[3] for row in rows)


class TestRoundTrip:
    def test_offsets_count_from_where_the_batch_lies(self):
        placed = patched(plain(b"a", b"b"), 0, ">q", 41)

        assert decode_records(placed).offsets == [41, 42]

    def test_a_log_append_time_batch_has_one_timestamp(self):
        stamped = patched(encode_batch(None, [b"a", b"b"], [5, 9]), 21, ">h", 0x08)

        assert decode_records(stamped).timestamps == [9, 9]

    @pytest.mark.parametrize("columns", [([b"k"], [b"a", b"b"], 5), (None, [b"a", b"b"], [5])])
    def test_columns_of_different_lengths_are_refused(self, columns):
        with pytest.raises(ValueError, match="zip"):
            encode_batch(*columns)

    @unhurried
    @given(st.integers(-(2**63), 2**63 - 1))
    def test_every_number_of_64_bits_comes_back(self, number):
        assert read(encoded(number), 0) == (number, len(encoded(number)))
        assert VARINT[number] == encoded(number)


class TestDamage:
    @unhurried
    @given(st.binary(max_size=60), st.integers(1, 5))
    def test_any_bytes_under_a_true_checksum_are_read_or_refused(self, junk, declared):
        damaged = patched(compressed(plain(b"a"), 0, junk), 57, ">i", declared)

        try:
            found = decode_records(damaged)
        except KafkaError:
            return
        assert len(found) == declared

    @unhurried
    @given(st.data())
    def test_one_changed_byte_among_records_is_read_or_refused(self, data):
        batch = encode([(b"k", b"value", NOW, (("h", b"x"),)), (None, None, NOW + 1, ())])
        at = data.draw(st.integers(HEADER.size, len(batch) - 1))

        damaged = patched(batch, at, ">B", data.draw(st.integers(0, 255)))

        try:
            found = decode_records(damaged)
        except KafkaError:
            return
        assert len(found) == len(found.keys) == len(found.values) == 2

    def test_a_record_count_above_the_records_is_a_corruption_error(self):
        """A count of two thousand million must not reserve memory for as many."""
        with pytest.raises(CorruptMessageError):
            decode_records(patched(plain(b"a"), 57, ">i", 2**31 - 1))

    def test_an_unterminated_varint_is_a_corruption_error(self):
        with pytest.raises(CorruptMessageError):
            read(b"\xff" * 11, 0)


class TestCompression:
    def test_decompression_beyond_the_limit_is_refused(self):
        bomb = gzip.compress(bytes(1_000_000))

        assert len(unpack(GZIP, bomb, limit=1_000_000)) == 1_000_000
        with pytest.raises(MessageTooLargeError):
            unpack(GZIP, bomb, limit=999_999)

    @pytest.mark.parametrize(("codec", "module"), [(SNAPPY, "cramjam"), (LZ4, "lz4.frame"), (ZSTD, "zstandard")])
    def test_a_missing_library_is_named(self, monkeypatch, codec, module):
        monkeypatch.setitem(sys.modules, module, None)

        with pytest.raises(UnsupportedCompressionTypeError, match=f"pip install {module.partition('.')[0]}"):
            unpack(codec, b"\x05aaaaa")

    def test_snappy_is_read_framed_and_bare(self):
        cramjam = pytest.importorskip("cramjam")
        block = bytes(cramjam.snappy.compress_raw(b"records " * 99))
        framed = b"\x82SNAPPY\x00" + bytes(8) + (struct.pack(">i", len(block)) + block) * 2

        assert unpack(SNAPPY, block) == b"records " * 99
        assert unpack(SNAPPY, framed) == b"records " * 198
        with pytest.raises(MessageTooLargeError):
            unpack(SNAPPY, framed, limit=1000)
        with pytest.raises(CorruptMessageError):
            unpack(SNAPPY, block[:-3])


def test_fetched_batches_are_split_and_a_partial_one_is_dropped():
    one, two = plain(b"a"), plain(b"b", b"c")

    for cut in range(len(two)):
        assert [header.records for header, _ in split(one + two[:cut])] == [1]

    assert [bytes(batch) for _, batch in split(one + two)] == [one, two]
    assert read_header(two).last_offset == 1
