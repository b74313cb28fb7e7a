"""Fuzz targets for what clients send before anybody knows who they are: tokens of SASL's mechanisms."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

from joserfc.jwk import KeySet

from eosfw_memory.server.security.access_tokens import UnsecuredTokenValidator
from eosfw_memory.server.security.oauthbearer_server import OAuthBearerServer
from eosfw_memory.server.security.plain_server import PlainServer
from eosfw_memory.server.security.scram_credential import ScramMechanism
from eosfw_memory.server.security.scram_server import ScramCredentials, ScramServer
from eosfw_memory.server.security.signed_tokens import ExpectedClaims, SignedTokenValidator

SCRAM_WORDS = (b",", b"=", b"n=", b"r=", b"c=", b"p=", b"m=x", b"=2C", b"=3D", b"biws", b"NONCE", b"\0", b"\xff")
TOKEN_WORDS = (b"\1", b"auth=", b"Bearer", b"e30", b"bnVsbA", b"W10", b".", b"\xff")
_PASSWORDS = {"alice": "wonderland"}
_NOW = 1_000_000.0
_CREDENTIALS = ScramCredentials(ScramMechanism.SCRAM_SHA_256, _PASSWORDS)
_CLAIMS = {"sub": "alice", "exp": _NOW + 60, "iat": _NOW - 60, "aud": "kafka"}
_HEADERS: tuple[object, ...] = (
    {"alg": "RS256", "kid": "k"},
    {"alg": "RS256"},
    {"alg": "HS256", "kid": "k"},
    {"alg": "ES256", "kid": "k"},
    {"alg": ["RS256"], "kid": {}},
    {"alg": "RS256", "kid": "k", "crit": ["b64"], "b64": False},
    {"alg": "dir", "enc": "A128GCM"},
    [],
)


def plain(token: bytes) -> bool:
    """Whether PLAIN lets a client in."""
    server = PlainServer(_PASSWORDS)
    server.evaluate_response(token)
    return server.complete


def scram(exchange: bytes) -> int:
    """Both messages of a client, with a zero byte between them; NONCE becomes the server's."""
    server = ScramServer(_CREDENTIALS)
    first, _, final = exchange.partition(b"\0")
    answer = server.evaluate_response(first)
    nonce = answer.partition(b",")[0].removeprefix(b"r=")
    return len(server.evaluate_response(final.replace(b"NONCE", nonce)))


def scram_exchanges() -> Sequence[bytes]:
    """Exchanges of clients that do not know the password."""
    proof = base64.b64encode(bytes(32))
    return (
        b"n,,n=alice,r=abcdef\0c=biws,r=NONCE,p=" + proof,
        b"n,a=alice,n=alice,r=abcdef,tokenauth=true\0c=biws,r=NONCE,p=" + proof,
        b"y,,n=a=2Cb=3D,r=abcdef\0c=eSws,r=NONCE,p=" + proof,
        b"p=tls-unique,,n=alice,r=abcdef\0c=biws,r=NONCE,p=AAAA",
    )


def oauthbearer(message: bytes) -> bool:
    """Whether OAUTHBEARER lets a client in with a token that nobody has signed."""
    server = OAuthBearerServer(UnsecuredTokenValidator(wall=lambda: _NOW))
    server.evaluate_response(message)
    return server.complete


def oauthbearer_messages() -> Sequence[bytes]:
    """Messages with a token that is accepted."""
    token = _encoded({"alg": "none"}) + b"." + _encoded(_CLAIMS) + b"."
    return b"n,,\1auth=Bearer " + token + b"\1\1", b"n,a=alice,\1auth=Bearer " + token + b"\1k=v\1\1"


class SignedToken:
    """Whose a signed token is, for a provider with one key."""

    def __init__(self) -> None:
        modulus = base64.urlsafe_b64encode(b"\xc1" * 256).decode().rstrip("=")
        self._keys = KeySet.import_key_set({"keys": [{"kty": "RSA", "kid": "k", "n": modulus, "e": "AQAB"}]})
        expected = ExpectedClaims(audience=frozenset({"kafka"}), issuer=None, principal_claim="sub", clock_skew=0)
        self._validator = SignedTokenValidator(self, expected, lambda: _NOW)

    def current(self) -> KeySet:
        """The provider's keys."""
        return self._keys

    def on_unknown_key(self) -> None:
        """There are no others."""

    def __call__(self, token: bytes) -> str:
        return self._validator.validate(token.decode(errors="replace")).principal


def signed_tokens() -> Sequence[bytes]:
    """Tokens with headers of many kinds, and a signature that does not fit."""
    rest = _encoded(_CLAIMS) + b"." + base64.urlsafe_b64encode(bytes(256)).rstrip(b"=")
    return tuple(_encoded(header) + b"." + rest for header in _HEADERS)


def _encoded(section: object) -> bytes:
    return base64.urlsafe_b64encode(json.dumps(section).encode()).rstrip(b"=")
