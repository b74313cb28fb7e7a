"""The connection between a worker and the process of one of its tasks: authenticated, with JSON messages."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from eosfw.concurrency import FairLock, Runtime
from eosfw.errors import RetriableError

Message = Mapping[str, Any]

HANDSHAKE_TIMEOUT: Final = 10.0
"""Seconds until the other side has to have proved that it knows the key."""
SEND_TIMEOUT: Final = 30
"""Seconds that one message may take; a process that reads nothing for so long is lost."""
_LENGTH = struct.Struct("!I")
_LONGEST: Final = 64 << 20
_LONGEST_UNPROVED: Final = 1 << 10
"""Bytes of a message from somebody who may be anybody."""


class ConnectionLostError(RetriableError):
    """The other side is gone, or was never one that knows the key."""


class TaskConnection:
    """One end. `receive` is for one thread, the rest for any.

    Made by `accepted` or `connected`, which prove both sides to each other by the key, which is not sent.
    """

    def __init__(self, peer: socket.socket, runtime: Runtime) -> None:
        self._peer = peer
        self._runtime, self._lock = runtime, FairLock(runtime)
        self._longest = _LONGEST_UNPROVED
        self._prove_until: float | None = runtime.now() + HANDSHAKE_TIMEOUT
        """For the whole proof: a socket's own timeout is one for each byte. None once it is there."""
        # Every message is complete, so nothing is gained by waiting for more.
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    @classmethod
    def accepted(cls, peer: socket.socket, key: bytes, runtime: Runtime) -> TaskConnection:
        """The worker's end."""
        return cls(peer, runtime).proved(key, own=b"worker", other=b"task")

    @classmethod
    def connected(cls, address: tuple[str, int], key: bytes, runtime: Runtime) -> TaskConnection:
        """The end of a task's process; ConnectionLostError names an address that cannot be reached."""
        try:
            peer = socket.create_connection(address, HANDSHAKE_TIMEOUT)
        except OSError as why:
            raise ConnectionLostError(f"the worker at {address[0]}:{address[1]} cannot be reached: {why}") from why
        return cls(peer, runtime).proved(key, own=b"task", other=b"worker")

    def proved(self, key: bytes, own: bytes, other: bytes) -> TaskConnection:
        """The connection once both sides have proved that they know the key; before that nothing else is said."""
        try:
            self._peer.settimeout(HANDSHAKE_TIMEOUT)
            self._exchange_proofs(key, own, other)
        except BaseException:
            self.close()
            raise
        self._prove_until = None
        self._peer.settimeout(None)
        self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_TIMEOUT, 0))
        self._longest = _LONGEST
        return self

    def _exchange_proofs(self, key: bytes, own: bytes, other: bytes) -> None:
        nonce = secrets.token_hex(32)
        self.send({"nonce": nonce})
        asked = self._expect("nonce")
        self.send({"proof": _proof(key, own, asked)})
        if not hmac.compare_digest(self._expect("proof"), _proof(key, other, nonce)):
            raise ConnectionLostError("the other side of a task's connection does not know its key")

    def _expect(self, name: str) -> str:
        message = self.receive()
        if message is None or not isinstance(found := message.get(name), str):
            raise ConnectionLostError("the other side of a task's connection does not speak its protocol")
        return found

    def send(self, message: Message) -> None:
        """Send one message; ConnectionLostError if it cannot be sent, with the connection closed where a part was."""
        body = json.dumps(message, separators=(",", ":")).encode()
        with self._lock.held(self._runtime.now() + SEND_TIMEOUT) as mine:
            if not mine:
                raise ConnectionLostError(f"the other side of a task's connection read nothing for {SEND_TIMEOUT} s")
            try:
                self._peer.sendall(_LENGTH.pack(len(body)) + body)
            except OSError as why:
                self.close()  # what comes behind a part of a message would be read as its rest
                raise ConnectionLostError(f"the connection of a task is lost: {why}") from why

    def receive(self) -> dict[str, Any] | None:
        """Wait for the next message; None when the other side is gone, or speaks nonsense."""
        try:
            (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
            if length > self._longest:
                return None
            message = json.loads(self._exactly(length))
        except (OSError, ValueError, RecursionError):
            return None
        return message if isinstance(message, dict) else None

    def _exactly(self, size: int) -> bytes:
        parts, left = [], size
        while left:
            if self._prove_until is not None:
                self._peer.settimeout(max(0.001, self._prove_until - self._runtime.now()))
            part = self._peer.recv(min(left, 1 << 16))
            if not part:
                raise ConnectionResetError
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Close it; a `receive` on another thread ends."""
        with suppress(OSError):  # it is shut down already
            self._peer.shutdown(socket.SHUT_RDWR)
        self._peer.close()


def _proof(key: bytes, who: bytes, nonce: str) -> str:
    return hmac.new(key, who + b":" + nonce.encode(), hashlib.sha256).hexdigest()
