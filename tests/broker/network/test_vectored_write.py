"""A large response arrives complete, even if the socket accepts it in parts."""

from __future__ import annotations

import contextlib
import socket

import pytest

from eosfw_memory.server.network.vectored_write import send

MEGABYTE = 1 << 20


class Transport:
    """What asyncio offers for a socket: keeps what it is given, as if it sent it later."""

    def __init__(self, end: socket.socket, *, closing: bool = False, waiting: int = 0) -> None:
        self.given = b""
        self.get_extra_info = {"socket": end}.__getitem__
        self.is_closing = lambda: closing
        self.get_write_buffer_size = lambda: waiting

    def write(self, data: bytes) -> None:
        self.given += data


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def arrived(theirs: socket.socket) -> bytes:
    """The bytes that arrived at the other end."""
    received = b""
    with contextlib.suppress(BlockingIOError):
        while data := theirs.recv(MEGABYTE):
            received += data
    return received


def pieces(sizes):
    """Pieces that differ, some of them views as batches in memory are."""
    every = [bytes([number % 251]) * size for number, size in enumerate(sizes)]
    return [memoryview(each) if number % 2 else each for number, each in enumerate(every)]


@pytest.mark.parametrize(
    "sizes",
    [
        [8, 0, 100_000],
        [8, 12, 100_000, 12, 100_000, 12, 4 * MEGABYTE, 5],
        [12, 70_000] * 40,
        [4 * MEGABYTE],
        [100] * 2_000,
        [8, 20],
    ],
    ids=["what the socket takes", "cut within a piece", "cut anywhere", "one piece", "very many", "small"],
)
def test_unsent_bytes_are_written_through_the_transport(ends, sizes):
    """CON-01: no byte of a fetched batch is lost, none comes twice."""
    ours, theirs = ends
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 150_000)
    transport = Transport(ours)
    sent = pieces(sizes)

    send(transport, sent)

    assert arrived(theirs) + transport.given == b"".join(sent)


@pytest.mark.parametrize("state", [{"closing": True}, {"waiting": 1}, {}], ids=["closing", "waiting", "broken"])
def test_writes_keep_their_order_and_stop_after_a_lost_connection(ends, state):
    """An answer that is lost on purpose stays lost; a broken connection is left to the transport."""
    ours, theirs = ends
    if not state:
        theirs.close()
    transport = Transport(ours, **state)

    send(transport, pieces([MEGABYTE]))

    assert not state or arrived(theirs) == b""
    assert len(transport.given) == MEGABYTE
