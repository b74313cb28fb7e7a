"""The mechanism PLAIN (RFC 4616): name and password in one token. Kafka's `PlainSaslServer`."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from eosfw_memory.server.security.sasl_server import SaslAuthenticationError

_WRONG = "Authentication failed: Invalid username or password"
_PARTS = 3


class PlainServer:
    """Compares a password with that of the user."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.complete = False
        self.authorization_id = ""
        self.expires_at: float | None = None

    def evaluate_response(self, token: bytes) -> bytes:
        parts = token.decode(errors="replace").split("\0")
        if len(parts) != _PARTS:
            raise SaslAuthenticationError(f"Invalid SASL/PLAIN response: expected {_PARTS} tokens, got {len(parts)}")
        requested, name, password = parts
        if not name:
            raise SaslAuthenticationError("Authentication failed: username not specified")
        if not password:
            raise SaslAuthenticationError("Authentication failed: password not specified")
        if not self._matches(name, password):
            raise SaslAuthenticationError(_WRONG)
        if requested not in ("", name):
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self.authorization_id = name
        self.complete = True
        return b""

    def _matches(self, name: str, password: str) -> bool:
        # An unknown name costs the same comparison, and digests have one length: the time tells neither whether there
        # is such a user nor how long the password is.
        known = self._passwords.get(name)
        equal = hmac.compare_digest(_digest(password if known is None else known), _digest(password))
        return equal and known is not None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()
