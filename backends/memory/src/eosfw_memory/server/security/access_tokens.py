"""Check access tokens that nobody has signed, for tests. Kafka's `OAuthBearerUnsecuredJws`."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

_SECTIONS: Final = 3
_LATEST: Final = 1e15
"""More seconds than fit into an answer as milliseconds; JSON of Python knows Infinity, too."""


class InvalidTokenError(Exception):
    """The token is not accepted. Kafka's `OAuthBearerIllegalTokenException`."""


@dataclass(frozen=True, slots=True)
class ValidToken:
    """Whose it is, and when it expires, in seconds since 1970."""

    principal: str
    expires_at: float


class TokenValidator(Protocol):
    """Decides whether a token is accepted."""

    def validate(self, token: str) -> ValidToken:
        """What the token says; raise InvalidTokenError."""


@dataclass(frozen=True, slots=True)
class UnsecuredTokenValidator:
    """Accepts each token that is well-formed and has not expired: whoever can write one is let in."""

    principal_claim: str = "sub"
    clock_skew: float = 0.0
    """Seconds."""
    wall: Callable[[], float] = time.time

    def validate(self, token: str) -> ValidToken:
        sections = token.split(".")
        if len(sections) != _SECTIONS or sections[2] or _section(sections[0]).get("alg") != "none":
            raise InvalidTokenError("it is no unsecured JWT")
        return valid_claims(_section(sections[1]), self.principal_claim, self.clock_skew, self.wall())


def valid_claims(claims: Mapping[str, Any], principal_claim: str, clock_skew: float, now: float) -> ValidToken:
    """What claims say of the principal and the time; raise InvalidTokenError."""
    principal, expires_at = claims.get(principal_claim), claims.get("exp")
    if not isinstance(principal, str) or not principal.strip():
        raise InvalidTokenError(f"it lacks the claim {principal_claim}")
    if not isinstance(expires_at, int | float) or isinstance(expires_at, bool) or not abs(expires_at) < _LATEST:
        raise InvalidTokenError("it lacks the claim exp")
    if now - clock_skew >= expires_at:
        raise InvalidTokenError("it has expired")
    issued_at = claims.get("iat", 0)
    if not isinstance(issued_at, int | float) or now + clock_skew < issued_at:
        raise InvalidTokenError("it is issued in the future")
    return ValidToken(principal, float(expires_at))


def _section(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(base64.b64decode(f"{text}{'=' * (-len(text) % 4)}", altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidTokenError("it is no JWT")
    return found
