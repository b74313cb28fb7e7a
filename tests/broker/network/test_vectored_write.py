"""A large response arrives complete, even if the socket accepts it in parts."""

from __future__ import annotations

import socket

import pytest

from eosfw_memory.server.network.vectored_write import send

MEGABYTE = 1 << 20


class Transport:
    """What asyncio offers for a socket: keeps what it is given, as if it sent it later."""

    def __init__(self, end: socket.socket, *, closing: bool = False, waiting: int = 0) -> None:
        self._socket = end
        self._closing = closing
        self._waiting = waiting
        self.given = b""

    def get_extra_info(self, name: str) -> socket.socket:
        assert name == "socket"
        return self._socket

    def is_closing(self) -> bool:
        return self._closing

    def get_write_buffer_size(self) -> int:
        return self._waiting

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
    while True:
        try:
            data = theirs.recv(MEGABYTE)
        except BlockingIOError:
            return received
        if not data:
            return received
        received += data


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


@pytest.mark.parametrize("state", [{"closing": True}, {"waiting": 1}])
def test_writes_keep_their_order_and_stop_after_a_lost_connection(ends, state):
    """An answer that is lost on purpose stays lost."""
    ours, theirs = ends
    transport = Transport(ours, **state)

    send(transport, pieces([MEGABYTE]))

    assert arrived(theirs) == b""
    assert len(transport.given) == MEGABYTE


def test_a_broken_connection_is_left_to_the_transport(ends):
    ours, theirs = ends
    theirs.close()
    transport = Transport(ours)

    send(transport, pieces([MEGABYTE]))

    assert len(transport.given) == MEGABYTE
