"""As much of a broker as a client meets before it is authenticated."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import IO, Self

from eosfw.concurrency import ThreadRuntime

_API_VERSIONS, _SASL_HANDSHAKE = 18, 17
_TLS_HANDSHAKE = b"\x16"
_TLS_ALERT = bytes.fromhex("15030300020246")
REFUSAL = "Authentication failed: Invalid username or password"
Judge = Callable[[bytes], bool]
"""Whether what a client says by PLAIN is right."""


class TinyBroker:
    """Answers ApiVersions, SaslHandshake and SaslAuthenticate (PLAIN), with TLS if it is given a context."""

    def __init__(self, context: ssl.SSLContext | None = None, judge: Judge | None = None) -> None:
        self._context = context
        self._judge = judge
        self.closes = False
        """Whether each connection ends at once, as those of a broker that restarts do."""
        self.connections = 0
        self._open = ExitStack()
        self._listener = self._open.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.port = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        self._thread = ThreadRuntime().spawn("tiny-broker", self._serve)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        self._open.close()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self.port}"

    def _serve(self) -> None:
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            self.connections += 1
            connection.settimeout(5)
            with suppress(OSError), connection:
                if not self.closes:
                    self._serve_one(connection)

    def _serve_one(self, connection: socket.socket) -> None:
        if self._context is not None:
            if connection.recv(1, socket.MSG_PEEK) != _TLS_HANDSHAKE:
                connection.sendall(_TLS_ALERT)  # as Java's TLS does
                return
            connection = self._context.wrap_socket(connection, server_side=True)
        with connection, connection.makefile("rb") as received:  # whole, however it comes in pieces
            while (length := _number(received)) is not None:
                if length > 1 << 20:  # the beginning of a TLS handshake: Kafka closes the connection
                    return
                request = received.read(length)
                api_key, _, correlation_id = struct.unpack_from(">hhi", request)
                client_id = max(0, struct.unpack_from(">h", request, 8)[0])
                answer = struct.pack(">i", correlation_id) + self._answer(api_key, request[10 + client_id :])
                connection.sendall(struct.pack(">i", len(answer)) + answer)

    def _answer(self, api_key: int, body: bytes) -> bytes:
        match api_key:
            case api if api == _API_VERSIONS:
                return struct.pack(">hi", 0, 1) + struct.pack(">hhh", _SASL_HANDSHAKE, 0, 1)
            case api if api == _SASL_HANDSHAKE:
                chosen = body[2:].decode()
                if self._judge is None:
                    return struct.pack(">hi", 34, 0)
                return struct.pack(">hi", 0 if chosen == "PLAIN" else 33, 1) + _string("PLAIN")
            case _:
                right = self._judge is not None and self._judge(body[4:])
                return struct.pack(">h", 0 if right else 58) + _string("" if right else REFUSAL) + struct.pack(">i", 0)


def _number(received: IO[bytes]) -> int | None:
    data = received.read(4)
    return struct.unpack(">I", data)[0] if len(data) == 4 else None


def _string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()
