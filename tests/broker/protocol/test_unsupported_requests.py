"""Unsupported requests are logged once for each client, by Kafka's names."""

from __future__ import annotations

import logging
import re
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.protocol import unsupported_requests

DESCRIBE_QUORUM, ELECT_LEADERS, METADATA, UNKNOWN = 55, 43, 3, 999
OMISSIONS = Path(__file__).parents[3] / "docs/reference/omissions.md"


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a broker that has logged no warning yet."""
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    yield cluster.bootstrap_servers
    cluster.close()


def request(key: int, version: int, client: bytes, length: int | None = None) -> bytes:
    body = struct.pack(">hhih", key, version, 1, len(client) if length is None else length) + client
    return struct.pack(">i", len(body)) + body


def refused(address: str, sent: bytes) -> str:
    """Send, wait until the broker closes; give the sender's address."""
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        here = str(client.getsockname()[1])
        client.sendall(sent)
        with suppress(ConnectionResetError):
            assert client.recv(1) == b""
        return here


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("key", "version", "reported"),
    [
        (DESCRIBE_QUORUM, 1, "version 1 of DescribeQuorum,"),
        (ELECT_LEADERS, 2, "version 2 of ElectLeaders,"),
        (METADATA, 99, "version 99 of Metadata, which the embedded broker does not serve (it serves 0 to "),
    ],
)
def test_an_unsupported_request_is_logged_by_name_and_client(
    address: str, caplog: pytest.LogCaptureFixture, key: int, version: int, reported: str
) -> None:
    port = refused(address, request(key, version, b"reports"))

    (message,) = warnings(caplog)
    assert reported in message
    assert "client 'reports'" in message
    assert port in message
    assert "docs/reference/omissions.md" in message
    assert OMISSIONS.exists()


def test_a_warning_is_logged_once_for_each_client(address: str, caplog: pytest.LogCaptureFixture) -> None:
    for client in (b"one", b"other", b"one", b"one", b""):
        refused(address, request(DESCRIBE_QUORUM, 0, client))
    refused(address, request(DESCRIBE_QUORUM, 1, b"one"))

    assert [re.findall(r"client '(.*)' at .* version (\d)", each) for each in warnings(caplog)] == [
        [("one", "0")],
        [("other", "0")],
        [("", "0")],
        [("one", "1")],
    ]


def test_a_hostile_client_neither_floods_the_log_nor_fills_memory(
    address: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unsupported_requests, "_MAX_WARNINGS", 5)
    name = b"x\n" * 8000

    for number in range(9):
        refused(address, request(DESCRIBE_QUORUM, 0, b"%d" % number + name))

    *reported, last = warnings(caplog)
    assert len(reported) == 5
    assert max(map(len, reported)) < 600
    assert not any("\n" in each for each in reported), "a client must not write lines of its own"
    assert "5 such requests" in last


def test_eosfw_broker_prints_unsupported_requests_on_stderr() -> None:
    command = [sys.executable, "-c", "from eosfw.cli.entry import main; main()", "broker", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().removeprefix("listening on ").strip()
        refused(address, request(DESCRIBE_QUORUM, 0, b"reports"))
        process.send_signal(signal.SIGTERM)
        _, message = process.communicate(timeout=60)

    assert "WARNING: client 'reports'" in message
    assert "DescribeQuorum" in message
