"""How requests log in."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import httpx2

from eosfw.errors import DamagedDataError
from eosfw_http.errors import refusal, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from eosfw.config import Config

_UNAUTHORIZED: Final = 401
_EARLY: Final = 30.0
"""Seconds before its end at which a token is not used any more."""


def authentication(config: Config, clock: Callable[[], float] = monotonic) -> httpx2.Auth | None:
    """What `auth.type` says; None for none."""
    kind = config["auth.type"]
    if kind == "basic":
        return httpx2.BasicAuth(config["connection.user"], config["connection.password"])
    if kind == "bearer":
        return _Header("Authorization", f"Bearer {config['bearer.token']}")
    if kind == "api_key":
        return _Header(config["api.key.name"], config["api.key.value"])
    return ClientCredentials(config, clock) if kind == "oauth2" else None


class _Header(httpx2.Auth):
    def __init__(self, name: str, value: str) -> None:
        self._name, self._value = name, value

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        request.headers[self._name] = self._value
        yield request


class ClientCredentials(httpx2.Auth):
    """Tokens of OAuth2's client credentials (RFC 6749, 4.4), renewed before they end and once they are refused."""

    requires_response_body = True

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        self._url: str = config["oauth2.token.url"]
        self._client = httpx2.BasicAuth(config["oauth2.client.id"], config["oauth2.client.secret"])
        self._form = {"grant_type": "client_credentials"}
        if config["oauth2.client.scope"]:
            self._form["scope"] = config["oauth2.client.scope"]
        self._clock = clock
        self._token: str | None = None
        self._until = 0.0

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        old = self._token is not None and self._clock() < self._until
        if not old:
            yield from self._renew()
        request.headers["Authorization"] = f"Bearer {self._token}"
        response = yield request
        if old and response.status_code == _UNAUTHORIZED:
            yield from self._renew()
            request.headers["Authorization"] = f"Bearer {self._token}"
            yield request

    def _renew(self) -> Generator[httpx2.Request, httpx2.Response, None]:
        # BasicAuth sets the header when its first request is taken.
        response = yield next(self._client.auth_flow(httpx2.Request("POST", self._url, data=self._form)))
        name = shown(httpx2.URL(self._url))
        if not response.is_success:
            raise refusal(response, name)
        self._token, lasts = _token(response, name)
        self._until = self._clock() + lasts - _EARLY


def _token(response: httpx2.Response, name: str) -> tuple[str, float]:
    try:
        answer: Any = response.json()
        token, lasts = answer["access_token"], float(answer.get("expires_in", 3600))
    except (ValueError, TypeError, KeyError, AttributeError):
        token = None
    if not isinstance(token, str) or not token:
        raise DamagedDataError(f"{name} gave no access_token; correct oauth2.token.url") from None
    return token, lasts
