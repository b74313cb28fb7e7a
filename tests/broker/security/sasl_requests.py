"""Single requests of an authentication, and the answers as they come."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import Any

from ..groups.group_requests import Raw

HANDSHAKE, VERSIONS, AUTHENTICATE, METADATA = 17, 18, 36, 3


class Stranger(Raw):
    """A connection that has yet to authenticate itself."""

    def __init__(self, address: str, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        super().__init__(address)
        if tls is not None:
            self._socket = tls.wrap_socket(self._socket, server_hostname=host)

    @property
    def port(self) -> str:
        """By which the broker's log calls it."""
        return str(self._socket.getsockname()[1])

    def send_bytes(self, sent: bytes) -> None:
        self._socket.sendall(sent)

    def receive_bytes(self, size: int) -> bytes:
        return self._exactly(size)

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> Any:
        return self.ask(HANDSHAKE, version, mechanism=mechanism)

    def authenticate(self, token: bytes, version: int = 2) -> Any:
        return self.ask(AUTHENTICATE, version, auth_bytes=token)

    def closed(self) -> bool:
        """Wait for the end of the connection; nothing comes before it."""
        with suppress(ConnectionResetError, ssl.SSLError, BrokenPipeError):
            return self._socket.recv(1) == b""
        return True

    def stays_open(self) -> bool:
        """Whether the broker still answers; the connection must be authenticated."""
        return self.ask(METADATA, 4, topics=(), allow_auto_topic_creation=False)["brokers"] != ()


def raw_socket(address: str) -> socket.socket:
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), 20)
