"""The mechanisms SCRAM-SHA-256 and -512 (RFC 5802), by the package scramp. Kafka's `ScramSaslServer`."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Final

import scramp

from eosfw_memory.server.security.sasl_server import SaslError
from eosfw_memory.server.security.scram_credential import (
    MIN_ITERATIONS,
    ScramCredential,
    ScramLookup,
    ScramMechanism,
    no_credentials,
)

_SALT_BYTES: Final = 32


class ScramCredentials:
    """The users of one mechanism that the properties name.

    A name without a user has a credential, too, that no password fits and that stays the same: else the first answer
    would tell who has an account, as Kafka's does.
    """

    def __init__(self, mechanism: ScramMechanism, passwords: Mapping[str, str]) -> None:
        self.mechanism = mechanism
        self._hash = mechanism.hash_name
        self._passwords: Mapping[str, str] = {}
        self._known: Mapping[str, ScramCredential] = {}
        self.update(passwords)
        self._secret = secrets.token_bytes(_SALT_BYTES)

    def update(self, passwords: Mapping[str, str]) -> None:
        """Take the users as they are now; the challenge of whoever keeps his password stays the same, too."""
        if passwords is self._passwords:
            return
        before, known = self._passwords, self._known
        self._known = {
            name: known[name] if before.get(name) == password else self._credential(password)
            for name, password in passwords.items()
        }
        self._passwords = passwords

    def lookup(self, name: str) -> ScramCredential:
        """The credential of a user, or of nobody."""
        known = self._known.get(name)
        salt, stored, server = (self._derived(name, purpose) for purpose in (b"salt", b"stored", b"server"))
        return ScramCredential(salt[:_SALT_BYTES], stored, server, MIN_ITERATIONS) if known is None else known

    def _credential(self, password: str) -> ScramCredential:
        # Not scramp's `make_auth_info`: it prepares passwords by SASLprep, which neither Kafka nor librdkafka does.
        salt = secrets.token_bytes(_SALT_BYTES)
        salted = hashlib.pbkdf2_hmac(self._hash, password.encode(), salt, MIN_ITERATIONS)
        return ScramCredential.from_salted_password(self.mechanism, salted, salt, MIN_ITERATIONS)

    def _derived(self, name: str, purpose: bytes) -> bytes:
        return hmac.digest(self._secret, purpose + name.encode(), self._hash)


class ScramServer:
    """Two tokens, of which neither holds the password."""

    def __init__(self, credentials: ScramCredentials, stored: ScramLookup = no_credentials) -> None:
        self._credentials = credentials
        self._stored = stored
        self._exchange = scramp.ScramMechanism(credentials.mechanism.mechanism_name).make_server(self._lookup)
        self._name = ""
        self._answered = False
        self.complete = False
        self.authorization_id = ""
        self.expires_at: float | None = None

    def evaluate_response(self, token: bytes) -> bytes:
        try:
            message = token.decode()
            answer = self._final(message) if self._answered else self._first(message)
        except (scramp.ScramException, UnicodeError) as wrong:
            raise SaslError(type(wrong).__name__) from wrong
        return answer.encode()

    def _first(self, message: str) -> str:
        self._exchange.set_client_first(message)
        self._answered = True
        return str(self._exchange.get_server_first())

    def _final(self, message: str) -> str:
        self._exchange.set_client_final(message)
        answer = str(self._exchange.get_server_final())
        self.authorization_id = self._name
        self.complete = True
        return answer

    def _lookup(self, name: str) -> ScramCredential:
        self._name = name
        # What an administrator has set while the broker runs is newer than its properties.
        return self._stored(self._credentials.mechanism, name) or self._credentials.lookup(name)
