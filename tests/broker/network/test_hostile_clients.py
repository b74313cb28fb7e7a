"""Slow, half-open or broken clients cost only themselves."""

from __future__ import annotations

import logging
import socket
import struct

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.network import connection

from .test_hostile_frames import API_VERSIONS, answer, closed_by_peer, framed

PATIENCE = 20


@pytest.fixture
def serve():
    clusters, sockets = [], []

    def served(**properties: str):
        clusters.append(
            EmbeddedCluster.start({name.replace("_", "."): each for name, each in properties.items()}, ThreadRuntime())
        )
        host, port = clusters[-1].bootstrap_servers.split(":")

        def connect(**options: int) -> socket.socket:
            opened = socket.socket()
            for name, value in options.items():
                opened.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
            opened.settimeout(PATIENCE)
            opened.connect((host, int(port)))
            sockets.append(opened)
            return opened

        return clusters[-1], connect

    yield served
    for each in sockets:
        each.close()
    for each in clusters:
        each.close()


def served_well(connect) -> bool:
    neighbour = connect()
    neighbour.sendall(framed(API_VERSIONS))
    return struct.unpack_from(">ih", answer(neighbour)) == (7, 0)


def test_a_connection_on_which_nothing_happens_is_closed(serve):
    """Half-open clients do not add up (connections.max.idle.ms)."""
    _, connect = serve(connections_max_idle_ms="1000")
    silent, half = connect(), connect()
    half.sendall(framed(API_VERSIONS)[:7])

    assert closed_by_peer(silent)
    assert closed_by_peer(half)
    assert served_well(connect)


def test_a_connection_waiting_for_an_answer_is_not_idle(serve):
    _, connect = serve(connections_max_idle_ms="1000", auto_create_topics_enable="true")
    waiting = connect()
    metadata = struct.pack(">hhihi", 3, 1, 1, -1, 1) + struct.pack(">h1s", 1, b"t")
    waiting.sendall(framed(metadata))
    answer(waiting)
    fetch = struct.pack(">hhih", 1, 4, 2, -1) + struct.pack(">iiiiBi", -1, 2500, 1, 1_000_000, 0, 1)
    fetch += struct.pack(">h1siiqi", 1, b"t", 1, 0, 0, 1_000_000)

    waiting.sendall(framed(fetch))

    assert struct.unpack_from(">i", answer(waiting)) == (2,)


def test_more_connections_than_allowed_are_closed_and_the_others_are_served(serve, caplog):
    """max.connections."""
    caplog.set_level(logging.INFO)
    _, connect = serve(max_connections="2")
    first, second = connect(), connect()
    for each in (first, second):
        each.sendall(framed(API_VERSIONS))
        answer(each)

    assert closed_by_peer(connect())

    first.sendall(framed(API_VERSIONS))
    assert struct.unpack_from(">ih", answer(first)) == (7, 0)
    second.close()
    assert "max.connections=2" in caplog.text


def held(cluster) -> int:
    """Bytes that the broker keeps for all of its clients."""
    total = 0
    for each in tuple(cluster._server._connections):
        total += sum(map(len, tuple(each._frames))) + each._decoder.buffered_bytes
        total += each._transport.get_write_buffer_size()
    return total


def test_a_client_that_never_reads_responses_uses_bounded_memory(serve, until):
    """The broker stops reading while its responses are unread, so the client cannot send."""
    cluster, connect = serve()
    deaf = connect(SO_RCVBUF=4096, SO_SNDBUF=4096)
    deaf.setblocking(False)
    request = framed(API_VERSIONS) * 200
    sent = 0

    def send_would_block() -> bool:
        nonlocal sent
        try:
            sent += deaf.send(request)
        except BlockingIOError:
            return True
        return False

    until(send_would_block)

    assert held(cluster) < 1 << 20
    assert served_well(connect)


def test_pipelined_requests_beyond_the_limit_wait_at_the_client(serve, until, monkeypatch):
    """While one answer is put off the requests behind it are read up to a number of bytes only."""
    monkeypatch.setattr(connection, "_MAX_WAITING_BYTES", 10_000)
    cluster, connect = serve()
    eager = connect(SO_SNDBUF=4096)
    metadata = struct.pack(">hhihi", 3, 1, 1, -1, 1) + struct.pack(">h1s", 1, b"t")
    eager.sendall(framed(metadata))
    answer(eager)
    fetch = struct.pack(">hhih", 1, 4, 2, -1) + struct.pack(">iiiiBi", -1, 600_000, 1, 1_000_000, 0, 1)
    eager.sendall(framed(fetch + struct.pack(">h1siiqi", 1, b"t", 1, 0, 0, 1_000_000)))
    eager.setblocking(False)
    large = framed(struct.pack(">hhih", 18, 0, 3, 10_000) + bytes(10_000))

    def send_would_block() -> bool:
        try:
            eager.send(large)
        except BlockingIOError:
            return True
        return False

    until(send_would_block)

    assert held(cluster) < 1 << 20
    assert served_well(connect)


def test_a_partial_frame_uses_only_the_memory_it_received(serve, until):
    """Slowloris: 100 MB are announced, some bytes come."""
    cluster, connect = serve()
    slow = [connect() for _ in range(20)]
    for each in slow:
        each.sendall(struct.pack(">i", 100_000_000) + b"slow")

    until(lambda: held(cluster) >= 20 * 8)

    assert held(cluster) == 20 * 8
    assert served_well(connect)
