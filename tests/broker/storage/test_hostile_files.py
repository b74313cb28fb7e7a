"""Arbitrary bytes in the log and the files beside it raise only the documented damage error."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw_memory.storage.files.checksummed_file import LogFingerprint, decode_checksummed, encode_checksummed
from eosfw_memory.storage.files.segments.producer_snapshot import decode_state, encode_producers
from eosfw_memory.storage.files.segments.segment_index import decode_index
from eosfw_memory.storage.files.segments.segment_scan import ExpectedBatch, scan
from eosfw_memory.storage.log.log_memory import LogMemory
from eosfw_memory.storage.log.log_storage import LogState
from eosfw_memory.storage.log.memory_segment import MemorySegment

from ..log.log_harness import Writer, new_log, unhurried

WITNESS = LogFingerprint(uuid.UUID(int=1), 0, 0, 5, 100, 7)


@pytest.fixture(scope="module")
def snapshot():
    log = new_log()
    for producer_id in range(3):
        writer = Writer(log, producer_id)
        for _ in range(7):
            writer.send(b"x")
    return encode_producers(log.state.producers)


@unhurried
@given(data=st.binary(max_size=300))
def test_arbitrary_bytes_are_refused_as_snapshot_and_index(data):
    """Every input gives a result; a snapshot is used only if checksum and witness match."""
    assert decode_checksummed(b"EOSP", data) is None
    state = decode_state(memoryview(data))
    assert state is None or isinstance(state, LogState)
    decode_index(memoryview(data), MemorySegment(0, LogMemory()), 0)


@unhurried
@given(data=st.data())
def test_a_changed_snapshot_is_ignored(snapshot, data):
    """Any byte, any length."""
    sealed = encode_checksummed(b"EOSP", WITNESS, snapshot)
    at = data.draw(st.integers(0, len(sealed) - 1))
    changed = bytearray(sealed)
    changed[at] ^= data.draw(st.integers(1, 255))
    assert decode_checksummed(b"EOSP", bytes(changed)) is None
    assert decode_checksummed(b"EOSP", sealed[:at]) is None
    assert decode_checksummed(b"EOSX", sealed) is None
    assert decode_checksummed(b"EOSP", sealed)[0] == WITNESS


@unhurried
@given(noise=st.binary(max_size=200), at=st.integers(0, 400), cut=st.integers(0, 400))
def test_a_scan_of_arbitrary_bytes_ends_with_an_answer(tmp_path_factory, noise, at, cut):
    """Lengths, counts, offsets, magic numbers of any value; nothing is allocated by what they declare."""
    log = new_log()
    writer = Writer(log, 1)
    for number in range(5):
        writer.send(b"%d" % number)
    good = b"".join(log.batches())
    path = tmp_path_factory.mktemp("scan") / "0.log"
    path.write_bytes((good[:at] + noise + good[at:])[: max(cut, 1)])
    offsets = []
    result = scan(path, ExpectedBatch(0, gaps=False), lambda header, end, control: offsets.append(header[0]))  # noqa: ARG005
    assert offsets == list(range(len(offsets)))
    assert result.whole <= result.size
    assert bool(result.problem) == (result.whole < result.size)
