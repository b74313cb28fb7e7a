"""Forged files of a data directory with correct checksums are refused with one sentence, never a crash."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from crc32c import crc32c

from eosfw.errors import ConfigError
from eosfw_memory.common.log_errors import CorruptMessageError
from eosfw_memory.faults.parsing import read_rules
from eosfw_memory.storage.files.checksum_line import read_checked
from eosfw_memory.storage.files.checksummed_file import decode_framed, encode_checksummed, encode_framed
from eosfw_memory.storage.files.segments.segment_index import KIND, encode_index
from eosfw_memory.storage.files.topic_list import TOPICS
from eosfw_memory.storage.records.batch import HEADER

from ..log.log_harness import Writer
from .data_directory_harness import SMALL, TOPIC, DataDirectoryHarness, data_file, refused_start

CRC_AT, COVERED_FROM = 17, 21


def killed(root: Path) -> None:
    """A directory that a broker left with one aborted transaction in it."""
    house = DataDirectoryHarness(root)
    writer = Writer(house.log, 1)
    writer.send(b"v")
    writer.abort()
    house.crash()


@pytest.mark.parametrize("at", [HEADER.size, -8, -1], ids=["length", "length of its value", "headers"])
def test_a_marker_that_cannot_be_read_is_named_though_its_checksum_fits(tmp_path, at):
    """What its transaction became is not to be guessed."""
    killed(tmp_path)
    path = data_file(tmp_path)
    data = bytearray(path.read_bytes())
    begins = len(data) - HEADER.size - len(b"\x20\0\0\0\x08\0\0\0\0\x0c\0\0\0\0\0\0\0")
    marker = data[begins:]
    marker[at] ^= 0x12
    struct.pack_into(">I", marker, CRC_AT, crc32c(bytes(marker[COVERED_FROM:])))
    path.write_bytes(data[:begins] + marker)
    with refused_start(tmp_path, f"damaged at byte {begins} .offset 1.: a control batch cannot be read"):
        DataDirectoryHarness(tmp_path)


@pytest.mark.parametrize("ends", [[1 << 40], [-1], [0]], ids=["beyond the file", "before it", "nothing"])
def test_an_index_with_wrong_sizes_causes_no_wrong_read_or_allocation(tmp_path, ends):
    """The read is refused before anything is set aside."""
    house = DataDirectoryHarness(tmp_path, **SMALL)
    writer = Writer(house.log, 1)
    for number in range(7):
        writer.send(b"%d" % number)
    house.stop()
    path = min((tmp_path / f"{TOPIC}-0").glob("*.index"))
    fingerprint, body, _ = decode_framed(KIND, memoryview(path.read_bytes()), 0)
    segment = house.log.rolled_segments()[0]
    before = encode_index(segment, house.log.state.aborted)
    segment.ends[: len(ends)] = type(segment.ends)("q", ends)
    changed = encode_index(segment, house.log.state.aborted)
    assert bytes(body) == before != changed
    path.write_bytes(encode_framed(encode_checksummed(KIND, fingerprint, changed)))

    house = DataDirectoryHarness(tmp_path)

    with pytest.raises(CorruptMessageError, match="is damaged"):
        list(house.log.batches())
    house.crash()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"400"', '"many"'),
        ('"segment.bytes"', '"no.such.property"'),
        ('"partitions": 1', '"partitions": 1e999'),
        ('"partitions": 1', '"partitions": 999999999999'),
        ('"partitions": 1', '"partitions": -1'),
        (f'"name": "{TOPIC}"', '"name": "../elsewhere"'),
        ('"deleting": []', '"deleting": ' + "[" * 100_000),
        ('"partitions": 1', '"partitions": ' + "9" * 5000),
    ],
    ids=["number", "property", "infinite", "too many", "negative", "outside", "nested", "digits"],
)
def test_an_impossible_topic_list_is_refused(tmp_path, old, new):
    """File and remedy, nothing changed, nothing made outside."""
    DataDirectoryHarness(tmp_path, **SMALL).stop()
    path = tmp_path / TOPICS
    text = read_checked(path).decode()
    assert old in text
    path.write_text(text.replace(old, new))
    with refused_start(tmp_path, r"topics\.json: cannot be read .*: restore the file from a copy"):
        DataDirectoryHarness(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[fault]]\nkind = "delay"\nrequest = "Produce"\nseconds = nan\n', "seconds: nan is no number of seconds"),
        ('[[fault]]\nkind = "jump"\nat = "before-marker"\nseconds = inf\n', "seconds: inf is no number of seconds"),
        ("a = " + "[" * 100_000, "is no TOML"),
        ("a = " + "9" * 5000, "is no TOML"),
    ],
    ids=["nan", "inf", "nested", "digits"],
)
def test_an_invalid_fault_file_is_refused(tmp_path, text, message):
    """A fault that is silently ignored would let a test pass that tested nothing."""
    path = tmp_path / "faults.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_rules(path)
