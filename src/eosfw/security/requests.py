"""The requests that come before all others: ApiVersions, SaslHandshake, SaslAuthenticate."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_API_VERSIONS: Final = 18
_SASL_HANDSHAKE: Final = 17
_SASL_AUTHENTICATE: Final = 36
_LARGEST: Final = 1 << 20


class NoKafkaError(OSError):
    """The answer is not one of Kafka's protocol."""


@dataclass(frozen=True, slots=True)
class SaslHandshakeResponse:
    """Kafka's code, and the mechanisms that the listener takes."""

    error_code: int
    mechanisms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SaslAuthenticateResponse:
    """Kafka's code, the broker's sentence about it, and the server's message of the mechanism."""

    error_code: int
    error_message: str
    auth_bytes: bytes


class BrokerConnection:
    """A connection over which one request after another is sent; OSError if it ends or no answer comes in time."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._correlation_id = 0
        self.tells_lifetime = False
        """Whether the broker tells how long a session lasts (KIP-368)."""
        self.session_lifetime = 0.0
        """Seconds after which the broker wants another authentication; 0 if never, or if it does not tell."""

    def versions(self) -> Mapping[int, int]:
        """The requests that the broker knows, each with its newest version (ApiVersions)."""
        answer = self._ask(_API_VERSIONS, 0, b"")
        _, count = answer.unpack(">hi")
        found = (answer.unpack(">hhh") for _ in range(count))
        return {key: newest for key, _, newest in found}

    def knows_sasl(self) -> bool:
        """Whether the broker knows what SaslHandshake is; a listener without SASL may still refuse it."""
        return _SASL_HANDSHAKE in self.versions()

    def ask_for_lifetime(self) -> None:
        """Let the broker tell how long a session lasts, if it can."""
        self.tells_lifetime = self.versions().get(_SASL_AUTHENTICATE, 0) >= 1

    def sasl_handshake(self, mechanism: str) -> SaslHandshakeResponse:
        """Choose a mechanism."""
        answer = self._ask(_SASL_HANDSHAKE, 1, _string(mechanism))
        code, count = answer.unpack(">hi")
        return SaslHandshakeResponse(code, tuple(answer.string() for _ in range(max(0, count))))

    def sasl_authenticate(self, message: bytes) -> SaslAuthenticateResponse:
        """Send one message of the mechanism."""
        answer = self._ask(_SASL_AUTHENTICATE, int(self.tells_lifetime), struct.pack(">i", len(message)) + message)
        (code,) = answer.unpack(">h")
        sentence = answer.string()
        (length,) = answer.unpack(">i")
        auth_bytes = answer.take(max(0, length))
        if self.tells_lifetime:
            self.session_lifetime = max(0, answer.unpack(">q")[0]) / 1000
        return SaslAuthenticateResponse(code, sentence, auth_bytes)

    def _ask(self, api_key: int, version: int, body: bytes) -> _Answer:
        self._correlation_id += 1
        head = struct.pack(">hhi", api_key, version, self._correlation_id) + _string("eosfw")
        self._connection.sendall(struct.pack(">i", len(head) + len(body)) + head + body)
        (length,) = struct.unpack(">i", self._receive(4))
        if not 4 <= length <= _LARGEST:
            raise NoKafkaError("the answer is not Kafka's")
        answer = _Answer(self._receive(length))
        if answer.unpack(">i") != (self._correlation_id,):
            raise NoKafkaError("the answer belongs to no request")
        return answer

    def _receive(self, count: int) -> bytes:
        return b"".join(self._pieces(count))

    def _pieces(self, left: int) -> Iterator[bytes]:
        while left:
            piece = self._connection.recv(left)
            if not piece:
                raise ConnectionResetError("the broker closed the connection")
            left -= len(piece)
            yield piece


class _Answer:
    """The bytes of a response, read from the front."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        """The next bytes."""
        piece = self._data[self._at : self._at + count]
        if len(piece) < count:
            raise NoKafkaError("the answer is too short")
        self._at += count
        return piece

    def unpack(self, form: str) -> tuple[int, ...]:
        """The next numbers."""
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def string(self) -> str:
        """The next text; a null is an empty one."""
        (length,) = self.unpack(">h")
        return self.take(max(0, length)).decode(errors="replace")


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data
