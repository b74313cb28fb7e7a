"""What a SASL mechanism does at the broker's side. Java's `SaslServer`."""

from __future__ import annotations

from typing import Protocol


class SaslError(Exception):
    """Authentication failed; why stays here, for it may tell who has an account. Java's `SaslException`."""


class SaslAuthenticationError(SaslError):
    """Authentication failed with a sentence that the client may read. Kafka's `SaslAuthenticationException`."""


class SaslServer(Protocol):
    """One exchange of tokens with one client."""

    complete: bool
    """Whether the client is known by now; no token is taken afterwards."""
    authorization_id: str
    """The name of the user, once it is complete."""
    expires_at: float | None
    """When the credentials end, in seconds since 1970; None if they do not."""

    def evaluate_response(self, token: bytes) -> bytes:
        """The answer to a client's token; raise SaslError."""
