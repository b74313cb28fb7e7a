"""Slow, half-open or broken clients cost only themselves."""

from __future__ import annotations

import logging
import socket
import struct

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.network import connection
from eosfw_memory.server.network.connection_quotas import ConnectionQuotas

from ..event_loop_clock import EventLoopClock
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


def poll_for_ever(client: socket.socket, max_wait_ms: int) -> None:
    """Ask for the records of an empty topic; the answer has correlation id 2."""
    client.sendall(framed(struct.pack(">hhihi", 3, 1, 1, -1, 1) + struct.pack(">h1s", 1, b"t")))
    answer(client)  # of Metadata, which creates the topic
    fetch = struct.pack(">hhih", 1, 4, 2, -1) + struct.pack(">iiiiBi", -1, max_wait_ms, 1, 1_000_000, 0, 1)
    client.sendall(framed(fetch + struct.pack(">h1siiqi", 1, b"t", 1, 0, 0, 1_000_000)))


def test_a_connection_on_which_nothing_happens_is_closed(serve, until):
    """Half-open clients do not add up (connections.max.idle.ms)."""
    cluster, connect = serve(connections_max_idle_ms="60000")
    silent, half = connect(), connect()
    half.sendall(framed(API_VERSIONS)[:7])
    until(lambda: held(cluster) == 7)

    EventLoopClock(cluster).put_forward(80)

    assert closed_by_peer(silent)
    assert closed_by_peer(half)
    assert served_well(connect)


def test_a_connection_waiting_for_an_answer_is_not_idle(serve, until):
    cluster, connect = serve(connections_max_idle_ms="60000", auto_create_topics_enable="true")
    waiting, silent, clock = connect(), connect(), EventLoopClock(cluster)

    poll_for_ever(waiting, 600_000)
    until(lambda: any(each._poll for each in tuple(cluster._server._connections)))
    clock.put_forward(80)
    assert closed_by_peer(silent)
    clock.put_forward(600)

    assert struct.unpack_from(">i", answer(waiting)) == (2,)


@pytest.mark.parametrize("fails", ["attempt", "answer"])
def test_a_connection_whose_delayed_answer_fails_is_closed(serve, until, caplog, monkeypatch, fails):
    """As one whose request fails at once: its client would wait in vain."""
    cluster, connect = serve(auto_create_topics_enable="true")
    waiting = connect()
    poll_for_ever(waiting, 2_000_000)
    until(lambda: any(each._poll for each in tuple(cluster._server._connections)))

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a mistake")

    if fails == "attempt":
        monkeypatch.setattr(cluster.broker, "attempt", broken)
    else:
        monkeypatch.setattr(cluster.broker, "attempt", lambda *_, **__: {"responses": (), "error_code": 0})
        for each in tuple(cluster._server._connections):
            each._send = broken
    cluster.broker.topics.by_name("t").partitions[0].changed()

    assert closed_by_peer(waiting)
    assert "failed to answer a request" in caplog.text


@pytest.mark.parametrize("limit", ["max.connections", "max.connections.per.ip"])
def test_connections_above_a_limit_are_closed_and_another_is_served_once_one_has_ended(serve, until, caplog, limit):
    """SEC-37: the others are served meanwhile."""
    caplog.set_level(logging.INFO)
    cluster, connect = serve(**{limit.replace(".", "_"): "2"})
    first, second = connect(), connect()
    for each in (first, second):
        each.sendall(framed(API_VERSIONS))
        answer(each)

    assert closed_by_peer(connect())
    assert sum(f"{limit}=2" in each.getMessage() for each in caplog.records) == 1
    second.close()
    until(lambda: len(cluster._server._connections) == 1)

    assert served_well(connect)
    first.sendall(framed(API_VERSIONS))
    assert struct.unpack_from(">ih", answer(first)) == (7, 0)


def test_connections_count_by_address_and_as_a_whole():
    """SEC-37: an address that has all of its connections takes no place of others."""
    quotas = ConnectionQuotas(max_connections=3, max_connections_per_ip=2)
    first, _ = quotas.admit("192.0.2.1"), quotas.admit("192.0.2.1")
    with pytest.raises(ConnectionRefusedError, match=r"max\.connections\.per\.ip=2"):
        quotas.admit("192.0.2.1")
    quotas.admit("192.0.2.2")
    with pytest.raises(ConnectionRefusedError, match=r"max\.connections=3"):
        quotas.admit("192.0.2.3")

    first.release()
    first.release()

    quotas.admit("192.0.2.3")
    with pytest.raises(ConnectionRefusedError, match=r"max\.connections=3"):
        quotas.admit("192.0.2.1")


def held(cluster) -> int:
    """Bytes that the broker keeps for all of its clients."""
    total = 0
    for each in tuple(cluster._server._connections):
        total += sum(map(len, tuple(each._frames))) + each._decoder.buffered_bytes
        total += each._transport.get_write_buffer_size()
    return total


@pytest.mark.parametrize("puts_off", [False, True], ids=["never reads", "behind a delayed answer"])
def test_a_client_that_sends_without_end_uses_bounded_memory(serve, until, monkeypatch, puts_off):
    """The broker stops reading while its responses are unread, or while requests wait behind a delayed one."""
    monkeypatch.setattr(connection, "_MAX_WAITING_BYTES", 10_000)
    cluster, connect = serve()
    eager = connect(SO_SNDBUF=4096, SO_RCVBUF=4096)
    request = framed(API_VERSIONS) * 200
    if puts_off:
        poll_for_ever(eager, 600_000)
        request = framed(struct.pack(">hhih", 18, 0, 3, 10_000) + bytes(10_000))
    eager.setblocking(False)

    def send_would_block() -> bool:
        try:
            eager.send(request)
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
