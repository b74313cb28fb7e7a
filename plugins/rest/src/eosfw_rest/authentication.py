"""Who may use the REST interface: names with salted hashes of passwords, and hashes of bearer tokens."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from eosfw.errors import ConfigError, Problem

_COST, _BLOCK, _PARALLEL = 2**14, 8, 1
_SALT_BYTES: Final = 16
_TOKEN_BYTES: Final = 32
_REMEMBERED: Final = 1000


@dataclass(frozen=True, slots=True)
class Credentials:
    """The contents of a file of credentials."""

    passwords: dict[str, tuple[bytes, bytes]]
    """By name: salt and hash."""
    tokens: frozenset[bytes]
    """SHA-256 of each; tokens are random, so they need neither salt nor cost."""


def password_line(name: str, password: str) -> str:
    """The line that lets somebody in by name and password; ValueError for a name that it cannot have."""
    _check_name(name)
    salt = secrets.token_bytes(_SALT_BYTES)
    return f"basic:{name}:{salt.hex()}:{_hash(password.encode(), salt).hex()}"


def token_line(name: str) -> tuple[str, str]:
    """A new bearer token, and the line that lets its bearer in; ValueError for a name that it cannot have."""
    _check_name(name)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    return token, f"bearer:{name}:{hashlib.sha256(token.encode()).hexdigest()}"


def _check_name(name: str) -> None:
    if not name or not name.isprintable() or ":" in name or any(c.isspace() for c in name):
        raise ValueError("a name is printable, without blanks and colons")


def parse_credentials(text: str, where: str) -> Credentials:
    """Read a file of credentials; ConfigError with the line, but nothing of it."""
    passwords: dict[str, tuple[bytes, bytes]] = {}
    tokens: set[bytes] = set()
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#") and not _understood(line.strip().split(":"), passwords, tokens):
            what = "is no line of `python -m eosfw_rest.credentials`: make it anew"
            raise ConfigError(Problem(f"{where}, line {number}", what))
    if not (passwords or tokens):
        raise ConfigError(Problem(where, "has no credentials: `python -m eosfw_rest.credentials NAME` makes a line"))
    return Credentials(passwords, frozenset(tokens))


def _understood(parts: list[str], passwords: dict[str, tuple[bytes, bytes]], tokens: set[bytes]) -> bool:
    """Keep what a line says; False if it says nothing that is known."""
    try:
        match parts:
            case ["basic", name, salt, digest]:
                passwords[name] = (bytes.fromhex(salt), bytes.fromhex(digest))
            case ["bearer", _, digest] if len(digest) == 64:
                tokens.add(bytes.fromhex(digest))
            case _:
                return False
    except ValueError:
        return False
    return True


class Authentication:
    """Checks the header `Authorization`; thread-safe. It is slow for a password that was not admitted before."""

    def __init__(self, credentials: Credentials, lock: AbstractContextManager[object]) -> None:
        self._credentials, self._lock = credentials, lock
        self._secret = secrets.token_bytes(_TOKEN_BYTES)
        self._admitted: dict[bytes, None] = {}

    def admits_at_once(self, headers: Sequence[bytes]) -> bool | None:
        """Whether a request with these values of the header may come in; None where only `admits` can say it."""
        if len(headers) != 1:
            return False
        if self._digest(headers[0]) in self._admitted:
            return True
        scheme, _, rest = headers[0].partition(b" ")
        if scheme.lower() == b"bearer":
            return self._bearer(rest.strip())
        return None if scheme.lower() == b"basic" else False

    def admits(self, headers: Sequence[bytes]) -> bool:
        """Whether a request with these values of the header may come in."""
        known = self.admits_at_once(headers)
        if known is not None:
            return known
        if not self._basic(headers[0].partition(b" ")[2].strip()):
            return False
        if len(self._admitted) >= _REMEMBERED:
            self._admitted.clear()
        self._admitted[self._digest(headers[0])] = None
        return True

    def _digest(self, header: bytes) -> bytes:
        return hmac.digest(self._secret, header, "sha256")

    def _basic(self, encoded: bytes) -> bool:
        try:
            name, colon, password = base64.b64decode(encoded, validate=True).partition(b":")
            known = self._credentials.passwords.get(name.decode())
        except (binascii.Error, UnicodeDecodeError):
            return False
        # An unknown name costs what a known one costs, and one at a time: each takes 16 MB.
        salt, expected = known or (bytes(_SALT_BYTES), b"")
        with self._lock:
            found = _hash(password, salt)
        return bool(colon) and known is not None and hmac.compare_digest(found, expected)

    def _bearer(self, token: bytes) -> bool:
        found = hashlib.sha256(token).digest()
        matches = [hmac.compare_digest(found, known) for known in self._credentials.tokens]
        return any(matches)


def _hash(password: bytes, salt: bytes) -> bytes:
    return hashlib.scrypt(password, salt=salt, n=_COST, r=_BLOCK, p=_PARALLEL)
