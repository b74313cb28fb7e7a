"""Check access tokens that an identity provider has signed (RFC 7519). Kafka's `BrokerJwtValidator`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from joserfc import jwt
from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError, UnsupportedAlgorithmError

from eosfw_memory.server.security.access_tokens import InvalidTokenError, ValidToken, valid_claims
from eosfw_memory.server.security.json_web_keys import JsonWebKeys

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Those of public keys alone: with a key that everybody knows, everybody could sign by HS256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedClaims:
    """What a token must say; times in seconds."""

    audience: frozenset[str]
    issuer: str | None
    principal_claim: str
    clock_skew: float


class SignedTokenValidator:
    """Accepts the tokens that are signed with a key of the provider, and say what is expected."""

    def __init__(self, keys: JsonWebKeys, expected: ExpectedClaims, wall: Callable[[], float] = time.time) -> None:
        self._keys = keys
        self._expected = expected
        self._wall = wall

    def validate(self, token: str) -> ValidToken:
        claims, expected, now = self._claims(token), self._expected, self._wall()
        valid = valid_claims(claims, expected.principal_claim, expected.clock_skew, now)
        if "iat" not in claims:
            raise InvalidTokenError("it lacks the claim iat")
        not_before = claims.get("nbf", 0)
        if not isinstance(not_before, int | float) or now + expected.clock_skew < not_before:
            raise InvalidTokenError("it is not valid yet")
        self._check_audience(claims.get("aud"))
        if expected.issuer is not None and claims.get("iss") != expected.issuer:
            raise InvalidTokenError("it is of another issuer than sasl.oauthbearer.expected.issuer")
        return valid

    def _claims(self, token: str) -> Mapping[str, Any]:
        try:
            return jwt.decode(token, self._keys.current(), algorithms=ALGORITHMS).claims
        except InvalidKeyIdError:
            self._keys.on_unknown_key()
            raise InvalidTokenError("it is signed with a key that is not known") from None
        except UnsupportedAlgorithmError:
            raise InvalidTokenError(f"its algorithm is none of {', '.join(ALGORITHMS)}") from None
        except BadSignatureError:
            raise InvalidTokenError("its signature is wrong") from None
        except (JoseError, ValueError, TypeError, KeyError, RecursionError):
            raise InvalidTokenError("it is no signed JWT of a key of this kind") from None

    def _check_audience(self, named: object) -> None:
        """As Kafka does: a token for somebody is not accepted where nobody is expected."""
        audience = [named] if isinstance(named, str) else named
        if audience is None and not self._expected.audience:
            return
        if not isinstance(audience, list) or not any(each in self._expected.audience for each in audience):
            raise InvalidTokenError("it is not for an audience of sasl.oauthbearer.expected.audience")
