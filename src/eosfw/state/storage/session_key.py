"""The key that requests between workers are signed with (KIP-507; Kafka Connect's `SessionKey`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

PREVIOUS_KEY_MS = 60_000
"""How long the key before the newest is accepted, since a worker learns of a new one only when it reads it."""
_BITS = {"HmacSHA256": 256, "HmacSHA384": 384, "HmacSHA512": 512}
"""The sizes that Java's `KeyGenerator` gives to keys by default."""


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A secret that all workers of a group share; never shown."""

    key: bytes = field(repr=False)
    algorithm: str
    creation_timestamp: int
    """In milliseconds since 1970, on the clock of the leader that made it."""


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """The newest session key of a config topic, with the one that it replaced."""

    current: SessionKey | None = None
    previous: SessionKey | None = None

    def replaced_by(self, newer: SessionKey) -> SessionKeys:
        """The keys after one more record; a record that repeats the newest key changes nothing."""
        return self if newer == self.current else SessionKeys(newer, self.current)

    def accepted(self, now: int) -> tuple[SessionKey, ...]:
        """The keys that a request may be signed with at `now`, in milliseconds since 1970."""
        if self.current is None:
            return ()
        # By the clock of the leader that made the key: clocks of workers may differ, which the minute allows for.
        if self.previous is None or now - self.current.creation_timestamp > PREVIOUS_KEY_MS:
            return (self.current,)
        return (self.current, self.previous)


@dataclass(frozen=True, slots=True)
class SessionKeySettings:
    """The properties `inter.worker.key.*` of a worker."""

    algorithm: str
    bits: int | None
    """None for the size that Java gives to keys of the algorithm."""
    ttl: int
    """In milliseconds; 0 if a key is used for ever."""

    @property
    def length(self) -> int:
        """The bytes of a key."""
        return -(-(self.bits or _BITS[self.algorithm]) // 8)

    def new_key(self, now: int, random_bytes: Callable[[int], bytes]) -> SessionKey:
        """Make a key at `now`, in milliseconds since 1970."""
        return SessionKey(random_bytes(self.length), self.algorithm, now)

    def rotation_due(self, current: SessionKey | None, now: int) -> bool:
        """Whether the leader must publish a new key now (`DistributedHerder.checkForKeyRotation`).

        There is none, it has expired, or it was made by other properties.
        """
        if current is None or (current.algorithm, len(current.key)) != (self.algorithm, self.length):
            return True
        return self.ttl > 0 and current.creation_timestamp + self.ttl <= now
