"""HTTP as bytes, for requests that no client would send."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from contextlib import closing
from http.client import HTTPConnection, HTTPMessage
from typing import Any

PATIENCE = 20.0


def connected(address: str) -> socket.socket:
    host, _, port = address.partition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def answer_of(sock: socket.socket) -> tuple[int, Any]:
    """Status and body of the answer; the connection is read to its end, or to that of the body."""
    received = b""
    while b"\r\n\r\n" not in received:
        piece = sock.recv(65536)
        assert piece, f"the connection ended after {received!r}"
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    size = int(lengths[0].partition(b":")[2]) if lengths else 0
    while len(body) < size:
        body += sock.recv(65536)
    try:
        return int(head.split(b" ")[1]), json.loads(body) if body else None
    except ValueError:
        return int(head.split(b" ")[1]), body


def exchange(address: str, *pieces: bytes) -> tuple[int, Any]:
    """Send bytes as they are, then read an answer."""
    with connected(address) as sock:
        send_until_refused(sock, pieces)
        return answer_of(sock)


def send_until_refused(sock: socket.socket, pieces: Iterable[bytes]) -> int:
    """Send until the other side closes; return how many bytes it took."""
    sent = 0
    try:
        for piece in pieces:
            sock.sendall(piece)
            sent += len(piece)
    except OSError:
        pass
    return sent


def request(method: str, target: str, body: bytes = b"", **headers: str) -> bytes:
    """A well-formed request, but for what is put into it."""
    given = {"Host": "localhost", "Content-Length": str(len(body))} | {
        name.replace("_", "-"): text for name, text in headers.items()
    }
    if body:
        given.setdefault("Content-Type", "application/json")
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {text}" for name, text in given.items())]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


def asked(url: str | None, path: str, method: str = "GET", **headers: str) -> tuple[int, HTTPMessage, bytes]:
    """Status, headers and body of the answer to a request as a client sends it; a `_` in a header's name is a dash."""
    assert url is not None
    with closing(HTTPConnection(url.removeprefix("http://"), timeout=PATIENCE)) as connection:
        connection.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
