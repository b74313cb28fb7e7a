"""What a broker keeps of a password for SCRAM (RFC 5802). Kafka's `ScramCredential`, `ScramFormatter`."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

MIN_ITERATIONS: Final = 4096
"""Kafka's default, and the least that it takes."""
MAX_ITERATIONS: Final = 16384
MIN_SALT_BYTES: Final = 12
"""The least with which scramp authenticates; Kafka takes any."""


class ScramMechanism(IntEnum):
    """The mechanisms, by their numbers in requests and records. Kafka's `ScramMechanism`."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @classmethod
    def from_mechanism_name(cls, name: str) -> ScramMechanism:
        """The mechanism that a client calls so in a handshake; raise KeyError."""
        return cls[name.replace("-", "_")]

    @property
    def mechanism_name(self) -> str:
        """As a client says it in a handshake."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        """As `hashlib` calls the hash function."""
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"


class ScramCredential(NamedTuple):
    """A salt with two keys, from which nobody can compute the password; in the order that scramp takes."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    @classmethod
    def from_salted_password(
        cls, mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int
    ) -> ScramCredential:
        """What is kept of a salted password, which whoever has it can authenticate himself with."""
        name = mechanism.hash_name
        stored_key = hashlib.new(name, hmac.digest(salted, b"Client Key", name)).digest()
        return cls(salt, stored_key, hmac.digest(salted, b"Server Key", name), iterations)

    def __repr__(self) -> str:
        return "ScramCredential([hidden])"


ScramLookup: TypeAlias = Callable[[ScramMechanism, str], ScramCredential | None]
"""The credential that the cluster has for the user of a name. Kafka's `CredentialCache`."""


def no_credentials(mechanism: ScramMechanism, name: str) -> None:
    """No user has a credential."""
