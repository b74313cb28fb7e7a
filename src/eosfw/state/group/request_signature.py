"""Signatures of requests between workers (KIP-507; Kafka Connect's `InternalRequestSignature`).

Kafka Connect signs the body alone, and a request to fence has none: whoever sees one may fence any connector for as
long as the key lives. Here a signature covers method, path, body, time, a nonce and the receiving worker, and each is
accepted once. A worker has another name after each start, so it may forget its nonces when it stops.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from eosfw.state.storage.session_key import SessionKey, SessionKeys

SIGNATURE_HEADER = "X-Connect-Authorization"
ALGORITHM_HEADER = "X-Connect-Request-Signature-Algorithm"
TIME_HEADER = "X-Eosfw-Request-Time"
"""When the request was signed, in milliseconds since 1970."""
NONCE_HEADER = "X-Eosfw-Request-Nonce"
RECEIVER_HEADER = "X-Eosfw-Request-Receiver"
"""The name of the worker that the request is for."""
MAX_CLOCK_SKEW_MS = 60_000
"""How far the clocks of two workers may differ; a request older than that is refused."""
_HEADERS = (SIGNATURE_HEADER, ALGORITHM_HEADER, TIME_HEADER, NONCE_HEADER, RECEIVER_HEADER)
_DIGESTS = {"HmacSHA256": hashlib.sha256, "HmacSHA384": hashlib.sha384, "HmacSHA512": hashlib.sha512}
_LONGEST_TIME = 19
_LONGEST_NONCE = 64


class SignatureCheck(Enum):
    """What a signature was found to be: HTTP status code, message."""

    VALID = 200, ""
    MISSING = 400, "Internal request missing required signature"
    ALGORITHM_NOT_ALLOWED = 400, "This worker does not accept the signature algorithm of the internal request"
    MALFORMED = 400, "Internal request contained a malformed signature"
    NO_KEY_YET = (
        503,
        "This worker is still starting up and has not been able to read a session key from the config topic yet",
    )
    WRONG = 403, "Internal request contained invalid signature."
    OTHER_RECEIVER = 403, "Internal request was signed for another worker, or before this one was started"
    NOT_FRESH = 403, "Internal request was signed too long ago, or by a worker whose clock differs by more than 60 s"
    REPLAYED = 403, "Internal request was received before"

    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message


@dataclass(frozen=True, slots=True)
class SignedContent:
    """What a signature covers, beside its time and nonce."""

    receiver: str
    """The name of the worker that the request is for."""
    method: str
    path: str
    """The path with its query, as it is sent."""
    body: bytes = field(repr=False)

    def bytes_to_sign(self, time: str, nonce: str) -> bytes:
        """The bytes that are signed: no part of a request can pass for another one."""
        digest = hashlib.sha256(self.body).hexdigest()
        return json.dumps([self.method.upper(), self.path, digest, time, nonce, self.receiver]).encode()


def signature_headers(
    content: SignedContent, key: SessionKey, algorithm: str, *, now: int, nonce: str
) -> dict[str, str]:
    """The headers that sign a request at `now`, in milliseconds since 1970; a nonce is used once."""
    signature = _sign(content, key, algorithm, str(now), nonce)
    encoded = base64.b64encode(signature).decode()
    return dict(zip(_HEADERS, (encoded, algorithm, str(now), nonce, content.receiver), strict=True))


class ReplayCache:
    """The nonces that were accepted as long as their requests are fresh; not thread-safe."""

    def __init__(self) -> None:
        self._expiry: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._expiry)

    def first_seen(self, nonce: str, now: int) -> bool:
        """Whether the nonce is new; it is remembered for as long as its request may be fresh."""
        # In the order of expiry: what is expired lies at the front.
        for known, expiry in list(self._expiry.items()):
            if expiry >= now:
                break
            del self._expiry[known]
        if nonce in self._expiry:
            return False
        self._expiry[nonce] = now + 2 * MAX_CLOCK_SKEW_MS
        return True


@dataclass(frozen=True, slots=True)
class SignatureRules:
    """What a worker accepts (Kafka Connect's `requestNotSignedProperly`)."""

    algorithms: Collection[str]
    keys: SessionKeys
    replays: ReplayCache

    def check(self, content: SignedContent, headers: Mapping[str, str], now: int) -> SignatureCheck:
        """What the signature of a request is found to be; `headers` by names in lower case.

        `content` is what this worker received; its receiver is this worker.
        """
        given = [headers.get(name.lower()) for name in _HEADERS]
        if None in given:
            return SignatureCheck.MISSING
        encoded, algorithm, time, nonce, receiver = (text or "" for text in given)
        if algorithm not in self.algorithms or algorithm not in _DIGESTS:
            return SignatureCheck.ALGORITHM_NOT_ALLOWED
        signature = _decoded(encoded)
        if signature is None or not _is_time(time) or not _is_nonce(nonce):
            return SignatureCheck.MALFORMED
        if self.keys.current is None:
            return SignatureCheck.NO_KEY_YET
        # The signature first, and only then time and nonce: what no worker signed is not remembered, so nobody else can
        # fill the memory. By the receiver that the request names: only a signature that is right tells for whom it was
        # made.
        named = replace(content, receiver=receiver)
        expected = [_sign(named, key, algorithm, time, nonce) for key in self.keys.accepted(now)]
        if not any(hmac.compare_digest(one, signature) for one in expected):
            return SignatureCheck.WRONG
        return self._freshness(int(time), nonce, now) if receiver == content.receiver else SignatureCheck.OTHER_RECEIVER

    def _freshness(self, time: int, nonce: str, now: int) -> SignatureCheck:
        if abs(now - time) > MAX_CLOCK_SKEW_MS:
            return SignatureCheck.NOT_FRESH
        return SignatureCheck.VALID if self.replays.first_seen(nonce, now) else SignatureCheck.REPLAYED


def _sign(content: SignedContent, key: SessionKey, algorithm: str, time: str, nonce: str) -> bytes:
    return hmac.new(key.key, content.bytes_to_sign(time, nonce), _DIGESTS[algorithm]).digest()


def _decoded(encoded: str) -> bytes | None:
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError:
        return None


def _is_time(text: str) -> bool:
    return len(text) <= _LONGEST_TIME and text.isascii() and text.isdecimal()


def _is_nonce(text: str) -> bool:
    return len(text) <= _LONGEST_NONCE and text.isascii() and text.isalnum()
