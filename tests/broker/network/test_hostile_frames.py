"""Invalid bytes close the connection of their sender and affect no other client."""

from __future__ import annotations

import logging
import socket
import struct

import pytest

from eosfw_memory.storage.records.codec import encode_batch

API_VERSIONS = struct.pack(">hhih", 18, 0, 7, -1)


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def header(key: int, version: int) -> bytes:
    return struct.pack(">hhih", key, version, 1, -1)


@pytest.fixture
def connect(served):
    opened = []

    def opener() -> socket.socket:
        host, port = served.bootstrap_servers.split(":")
        opened.append(socket.create_connection((host, int(port)), timeout=20))
        return opened[-1]

    yield opener
    for each in opened:
        each.close()


def received(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return data


def answer(connection: socket.socket) -> bytes:
    return received(connection, struct.unpack(">i", received(connection, 4))[0])


def closed_by_peer(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


HOSTILE = {
    "length 0": struct.pack(">i", 0),
    "length -1": struct.pack(">i", -1),
    "length 2^31-1": struct.pack(">i", 2**31 - 1),
    "smallest": framed(b"\0"),
    "request unknown to Kafka": framed(header(999, 0)),
    "request not served": framed(header(11, 0) + bytes(50)),
    "version from the future": framed(header(3, 99)),
    "negative version": framed(header(3, -1)),
    "header cut off": framed(struct.pack(">hhih", 3, 1, 1, 100)),
    "20 million tagged fields": framed(struct.pack(">hhihB", 3, 12, 1, -1, 0) + b"\x00" + b"\x80\xda\xc4\x09"),
    "noise": framed(bytes(range(256)) * 4),
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(512),
    "name cut off": framed(struct.pack(">hhih", 55, 0, 1, 30_000) + b"who"),
    "no name": framed(struct.pack(">hhih", 55, 0, 1, 2) + b"\xff\xfe"),
    "no header": framed(struct.pack(">hhi", 55, 0, 1)),
}
OF_OTHERS = {"request not served", "version from the future"}
"""Requests of Kafka's: of them its owner is warned."""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_frame_closes_its_own_connection_without_a_traceback(connect, name, caplog):
    hostile, neighbour = connect(), connect()
    caplog.set_level(logging.DEBUG)

    hostile.sendall(HOSTILE[name])

    assert closed_by_peer(hostile)
    neighbour.sendall(framed(API_VERSIONS))
    assert struct.unpack_from(">ih", answer(neighbour)) == (7, 0)
    assert "closed" in caplog.text
    least = logging.ERROR if name in OF_OTHERS else logging.WARNING
    assert [record for record in caplog.records if record.levelno >= least] == []


def test_an_unsupported_api_versions_request_is_answered_in_version_0(connect):
    """KIP-511."""
    newer = connect()

    newer.sendall(framed(struct.pack(">hhih", 18, 99, 42, -1) + b"\0whatever"))

    correlation_id, code, count = struct.unpack_from(">ihi", answer(newer))
    assert (correlation_id, code) == (42, 35)
    assert count > 0


def waiting_fetch(topic: str, correlation_id: int) -> bytes:
    """A fetch of an empty topic, which is answered after half a second."""
    name = struct.pack(">h", len(topic)) + topic.encode()
    wanted = struct.pack(">iiiiBi", -1, 500, 1, 1_000_000, 0, 1) + name + struct.pack(">iiqi", 1, 0, 0, 1_000_000)
    return framed(struct.pack(">hhih", 1, 4, correlation_id, -1) + wanted)


def test_pipelined_requests_are_answered_in_order_behind_a_waiting_one(connect, clients):
    ahead = connect()

    ahead.sendall(waiting_fetch(clients.topic(), 100))
    for number in range(101, 301):
        ahead.sendall(framed(struct.pack(">hhih", 18, 0, number, -1)))

    assert [struct.unpack_from(">i", answer(ahead))[0] for _ in range(201)] == list(range(100, 301))


def test_pipelined_records_stay_unchanged_behind_a_waiting_request(connect, clients):
    """BRK-01: memory that the next bytes are received into is not theirs any more by then."""
    name, ahead = clients.topic(), connect()
    topic = struct.pack(">h", len(name)) + name.encode()
    values = [b"%d " % number * 3000 for number in range(10)]

    ahead.sendall(waiting_fetch(clients.topic(), 0))
    for number, value in enumerate(values, 1):
        batch = encode_batch(None, [value], 1_700_000_000_000)
        produce = struct.pack(">hhii", -1, -1, 1000, 1) + topic + struct.pack(">iii", 1, 0, len(batch)) + batch
        ahead.sendall(framed(struct.pack(">hhih", 0, 3, number, -1) + produce))

    assert [struct.unpack_from(">i", answer(ahead))[0] for _ in range(11)] == list(range(11))
    assert clients.values(name) == values
