"""A stream of bytes is cut into the same frames wherever the network cuts it."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw_memory.server.network.frames import FrameDecoder, FrameError

MOST = 1000


def feed(decoder, data):
    """Let bytes arrive; give the frames that are whole then."""
    seen = []
    while data:
        room = decoder.free_buffer()
        size = min(len(room), len(data))
        room[:size], data = data[:size], data[size:]
        seen += map(bytes, decoder.received(size))
    return seen


def stream(frames):
    return b"".join(struct.pack(">i", len(each)) + each for each in frames)


@given(
    frames=st.lists(st.binary(min_size=1, max_size=60), max_size=6),
    cuts=st.lists(st.integers(0, 400), max_size=30),
    rest=st.binary(max_size=3),
)
def test_frames_are_decoded_however_the_network_splits_them(frames, cuts, rest):
    """CMP-01: a client may send its requests in any pieces, the next one's beginning behind them."""
    sent = stream(frames) + rest
    bounds = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]
    decoder, seen = FrameDecoder(MOST), []

    for first, last in pairwise(bounds):
        if first < last:
            seen += feed(decoder, sent[first:last])

    assert seen == frames


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("length", [0, -1, MOST + 1])
@pytest.mark.parametrize("before", [[], [b"one"]])
def test_an_impossible_frame_length_is_refused_at_once(before, length, pieces):
    sent = stream(before) + struct.pack(">i", length) + b"x"
    decoder, size = FrameDecoder(MOST), -(-len(sent) // pieces)

    def feed_all() -> None:
        for at in range(0, len(sent), size):
            feed(decoder, sent[at : at + size])

    with pytest.raises(FrameError):
        feed_all()


@pytest.mark.parametrize("size", [1, 3, 4095, 4096, 70_000])
def test_a_large_frame_is_the_same_however_it_is_split(size):
    frame = bytes(range(256)) * 1000
    sent, decoder = stream([frame, b"next"]), FrameDecoder(1 << 20)
    seen, received = [], 0

    for at in range(0, len(sent), size):
        seen += feed(decoder, sent[at : at + size])
        received += len(sent[at : at + size])
        assert decoder.buffered_bytes == received - sum(len(each) + 4 for each in seen)

    assert seen == [frame, b"next"]


def test_the_receive_buffer_follows_received_not_announced_bytes():
    """Four bytes that announce a hundred megabytes cost nothing; a giant frame leaves nothing; others use it again."""
    decoder = FrameDecoder(1 << 30)
    feed(decoder, struct.pack(">i", 100 << 20))
    assert len(decoder.free_buffer()) < 1 << 16

    decoder = FrameDecoder(1 << 30)
    feed(decoder, stream([bytes(10 << 20)]))
    assert len(decoder.free_buffer()) < 1 << 16
    feed(decoder, stream([bytes(1 << 20)]))
    room = decoder.free_buffer()
    feed(decoder, stream([bytes(1 << 20)]))
    assert decoder.free_buffer() is room
