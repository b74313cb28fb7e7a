"""Packed batches that no honest client sends cost the broker neither memory nor time."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from eosfw_memory.common.codes import Code
from eosfw_memory.common.log_errors import MessageTooLargeError
from eosfw_memory.storage.records.compression import MAX_UNPACKED, unpack

from ..brokers import produced
from .raw_batches import LZ4, PACKERS, batch, record

ZEROS = bytes(MAX_UNPACKED + 1)


def packed(kind: int) -> bytes:
    if kind == LZ4:
        return import_module("lz4.frame").compress(ZEROS, block_linked=False)
    return PACKERS[kind](ZEROS)


@pytest.mark.parametrize("kind", [1, 2, 3, 4], ids=["gzip", "snappy", "lz4", "zstd"])
def test_a_compression_bomb_is_unpacked_up_to_the_limit(broker, kind):
    """A few kilobytes must not take all the memory of the broker; no reader would take them either."""
    with pytest.raises(MessageTooLargeError):
        unpack(kind, packed(kind))

    assert produced(broker, batch(b"", kind=kind, pack=lambda _: packed(kind))) is Code.MESSAGE_TOO_LARGE
    assert broker.topics.partition("t", 0).log.high_watermark == 0


@pytest.mark.parametrize("kind", [1, 4], ids=["gzip", "zstd"])
def test_a_thousand_streams_in_one_batch_are_unpacked_in_one_pass(kind):
    """The remaining input must not be copied for every stream."""
    each = PACKERS[kind](b"x")

    assert unpack(kind, each * 20_000) == b"x" * 20_000


def test_records_of_an_unavailable_codec_are_stored_compressed(broker, monkeypatch):
    """The codecs are no requirement of the broker: its clients may have what it has not."""
    sent = batch(record(), kind=LZ4, pack=PACKERS[LZ4])
    monkeypatch.setitem(sys.modules, "lz4.frame", None)

    broker.topics.create("compacted", 1, {"cleanup.policy": "compact"})

    assert produced(broker, sent) is Code.NONE
    assert produced(broker, sent, topic="compacted") is Code.UNSUPPORTED_COMPRESSION_TYPE
