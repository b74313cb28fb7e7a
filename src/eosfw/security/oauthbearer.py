"""Tokens for SASL OAUTHBEARER from a token endpoint, by client credentials (RFC 6749, 4.4).

Kafka's `ClientCredentialsJwtRetriever`.
"""

from __future__ import annotations

import base64
import binascii
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, Final, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request

from eosfw.concurrency import Queue, Runtime, ThreadRuntime
from eosfw.config.oauthbearer import CLIENT_ID, ENDPOINT, SECRET, OAuthBearerSettings
from eosfw.config.security import SecuritySettings
from eosfw.errors import SaslAuthenticationError
from eosfw.security.endpoint_opener import endpoint_opener
from eosfw.security.tls import client_context
from eosfw.text import readable

_LARGEST: Final = 1 << 20
_RENEWED_AT: Final = 0.8
"""The part of a token's life after which another is asked for (Kafka's `sasl.login.refresh.window.factor`)."""
_END: Final = "\x01"


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token, with the seconds that it lasts from now on; 0 if that is not known."""

    value: str = field(repr=False)
    lifetime: float


def request_token(settings: OAuthBearerSettings, timeout: float) -> AccessToken:
    """Ask the token endpoint; SaslAuthenticationError says why there is none, and shows no secret.

    The timeout is for the whole answer: a socket has one for each byte alone, so the endpoint is asked on a thread.
    """
    runtime = ThreadRuntime()
    answers: Queue[AccessToken | Exception] = runtime.queue()

    def ask() -> None:
        try:
            answers.put(_requested(settings, timeout))
        except Exception as why:  # noqa: BLE001 raised below
            answers.put(why)

    runtime.spawn("eosfw-token", ask)
    try:
        found = answers.get(timeout)
    except TimeoutError:
        _unreachable(settings, TimeoutError(f"not within {timeout:g} s"))
    if isinstance(found, Exception):
        raise found
    return found


def _requested(settings: OAuthBearerSettings, timeout: float) -> AccessToken:
    credentials = f"{settings.client_id}:{settings.client_secret}".encode()
    form = {"grant_type": "client_credentials"} | ({"scope": settings.scope} if settings.scope else {})
    request = Request(  # noqa: S310 - the scheme was checked with the property
        settings.token_endpoint,
        urlencode(form).encode(),
        {"Authorization": f"Basic {base64.b64encode(credentials).decode()}", "Accept": "application/json"},
    )
    trust = SecuritySettings(ca_location=settings.ca_location, ca_pem=settings.ca_pem)
    opener = endpoint_opener(client_context(trust))
    try:
        with opener.open(request, timeout=timeout) as answer:
            return _token(settings, answer.read(_LARGEST))
    except HTTPError as why:
        with why:
            raise _refused(settings, why.code, why.read(_LARGEST)) from None
    except (OSError, HTTPException) as why:
        _unreachable(settings, why)


def client_first_message(token: str, settings: OAuthBearerSettings) -> bytes:
    """The message that has the token (RFC 7628, 3.1)."""
    pairs = (("auth", f"Bearer {token}"), *settings.extensions)
    return f"n,,{_END}{''.join(f'{name}={value}{_END}' for name, value in pairs)}{_END}".encode()


class TokenProvider:
    """Keeps a token until most of its life is over; threads may share it. Kafka's `ExpiringCredentialRefreshingLogin`.

    A token that cannot be had is asked for again at the next call.
    """

    def __init__(self, settings: OAuthBearerSettings, runtime: Runtime) -> None:
        self._settings = settings
        self._runtime = runtime
        self._lock = runtime.lock()
        self._token = ""
        self._renew_at = float("-inf")

    def token(self, timeout: float) -> str:
        """A token that is still good; what `request_token` raises."""
        with self._lock:
            if self._runtime.now() >= self._renew_at:
                asked_at = self._runtime.now()
                found = request_token(self._settings, timeout)
                self._token, self._renew_at = found.value, asked_at + found.lifetime * _RENEWED_AT
            return self._token

    def discard(self) -> None:
        """Forget the token, which a broker has refused."""
        with self._lock:
            self._renew_at = float("-inf")


def _token(settings: OAuthBearerSettings, body: bytes) -> AccessToken:
    answer = _object(body)
    value = answer.get("access_token")
    if not isinstance(value, str) or not value.isascii() or not value.isprintable():
        raise SaslAuthenticationError(
            f"{_endpoint(settings)} answered without an access_token: is it the token endpoint of an OpenID provider?"
        )
    return AccessToken(value, _lifetime(answer.get("expires_in"), value))


def _lifetime(expires_in: object, token: str) -> float:
    """How long a token lives, as the endpoint says, else by the claims of a JWT; 0 where no number says so."""
    parts = token.split(".")
    try:
        if isinstance(expires_in, int | float):
            return max(0.0, float(expires_in))
        claims = _object(base64.urlsafe_b64decode(parts[1] + "==")) if len(parts) > 1 else {}
        return max(0.0, float(claims["exp"]) - float(claims["iat"]))
    except (binascii.Error, KeyError, TypeError, ValueError, OverflowError):
        return 0.0


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _refused(settings: OAuthBearerSettings, status: int, body: bytes) -> SaslAuthenticationError:
    answer = _object(body)
    said = " ".join(str(answer[name]) for name in ("error", "error_description") if answer.get(name))
    said = readable(said.replace(settings.client_secret, "[hidden]").rstrip("."))
    sentence = f"HTTP {status}{': ' if said else ''}{said}"
    if status in (400, 401, 403):
        remedy = f"correct {CLIENT_ID} and {SECRET} (or sasl.oauthbearer.scope), or register the client there"
    elif status >= 500:
        remedy = "look there for why"
    else:
        remedy = f"is {ENDPOINT} the address for tokens?"
    return SaslAuthenticationError(
        f"{_endpoint(settings)} refused a token to client {settings.client_id!r}: {sentence}; {remedy}"
    )


def _unreachable(settings: OAuthBearerSettings, why: Exception) -> NoReturn:
    reason = why.reason if isinstance(why, URLError) else why
    where = _endpoint(settings)
    if isinstance(reason, ssl.SSLCertVerificationError):
        trusted = settings.ca_location or "this machine's store of authorities"
        raise SaslAuthenticationError(
            f"the certificate of {where} is refused ({reason.verify_message}), by {trusted}: "
            "set https.ca.location to the certificate of its authority"
        ) from None
    text = readable(getattr(reason, "strerror", None) or str(reason)) or type(reason).__name__
    raise SaslAuthenticationError(
        f"{where} does not answer ({text}): is it running, and is {ENDPOINT} right?"
    ) from None


def _endpoint(settings: OAuthBearerSettings) -> str:
    return f"the token endpoint {settings.token_endpoint}"
