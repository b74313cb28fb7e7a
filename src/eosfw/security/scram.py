"""The client's messages of SCRAM (RFC 5802), without channel binding, as Kafka's brokers expect them (KIP-84)."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

_HEADER: Final = "n,,"
_FEWEST: Final = 4096
"""Kafka's least (`ScramMechanism.minIterations`): a hostile broker could ask for one, and try passwords at leisure."""
_LONGEST: Final = 1_000_000
"""Iterations above which a broker's wish is refused: a hostile one could keep this client busy for hours."""

_MOST_DIGITS: Final = 7


class ScramRefusedError(Exception):
    """The server's messages are not those of a server that knows the password."""


class ScramClient:
    """One exchange: `first`, then `final` with the server's first message, then `verify` with its last one."""

    def __init__(self, digest: str, username: str, password: str, nonce: str) -> None:
        self._digest = digest
        self._password = password.encode()
        self._nonce = nonce
        name = username.replace("=", "=3D").replace(",", "=2C")
        self._first = f"n={name},r={nonce}"
        self._server_signature = b""

    def first(self) -> bytes:
        """The first message."""
        return f"{_HEADER}{self._first}".encode()

    def final(self, server_first: bytes) -> bytes:
        """The last message, which proves that the password is known."""
        fields = _fields(server_first)
        nonce, salt, iterations = fields.get("r", ""), fields.get("s", ""), fields.get("i", "")
        is_number = iterations.isascii() and iterations.isdecimal() and len(iterations) <= _MOST_DIGITS
        if not nonce.startswith(self._nonce) or not is_number or not _FEWEST <= int(iterations) <= _LONGEST:
            raise ScramRefusedError("the server's first message is malformed")
        salted = hashlib.pbkdf2_hmac(self._digest, self._password, base64.b64decode(salt), int(iterations))
        without_proof = f"c={base64.b64encode(_HEADER.encode()).decode()},r={nonce}"
        signed = f"{self._first},{server_first.decode()},{without_proof}".encode()
        client_key = self._hmac(salted, b"Client Key")
        signature = self._hmac(hashlib.new(self._digest, client_key).digest(), signed)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        self._server_signature = self._hmac(self._hmac(salted, b"Server Key"), signed)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def verify(self, server_final: bytes) -> None:
        """Raise ScramRefusedError unless the server knows the password, too."""
        fields = _fields(server_final)
        if "e" in fields:
            raise ScramRefusedError(fields["e"])
        if not hmac.compare_digest(base64.b64decode(fields.get("v", "")), self._server_signature):
            raise ScramRefusedError("the server does not know the password itself")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._digest).digest()


def _fields(message: bytes) -> dict[str, str]:
    return {one[:1]: one[2:] for one in message.decode().split(",")}
