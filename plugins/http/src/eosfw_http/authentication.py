"""How requests log in."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote_plus

import httpx2

from eosfw.errors import ConfigError, DamagedDataError, EosfwError, Problem
from eosfw_http.answers import content
from eosfw_http.errors import is_passing, refusal, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from eosfw.config import Config

    Flow = Generator[httpx2.Request, httpx2.Response, None]

_UNAUTHORIZED: Final = 401
_EARLY: Final = 30.0
"""Seconds before its end at which a token is not used any more."""
_LASTS: Final = 3600.0
"""Seconds for which a token is used whose answer does not say so; one that is refused is renewed anyway."""
_MOST: Final = 1024 * 1024
_REASONS: Final = frozenset(
    {
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
    }
)
"""What RFC 6749, 5.2 has for `error`."""


class Login(Protocol):
    """A way to log in."""

    def auth(self, client: httpx2.Client) -> httpx2.Auth | None:
        """What makes a request one that has logged in."""

    def refused(self) -> bool:
        """Hear that the API has refused the login (401); return whether another try may help."""


def login(config: Config, clock: Callable[[], float]) -> Login:
    """What `auth.type` says."""
    kind = config["auth.type"]
    if kind == "basic":
        return _Fixed(httpx2.BasicAuth(config["connection.user"], config["connection.password"]))
    if kind == "bearer":
        return _Fixed(_Header("Authorization", f"Bearer {config['bearer.token']}"))
    if kind == "api_key":
        how = _Parameter if config["api.key.location"] == "query" else _Header
        return _Fixed(how(config["api.key.name"], config["api.key.value"]))
    return ClientCredentials(config, clock) if kind == "oauth2" else _Fixed(None)


class _Fixed:
    def __init__(self, auth: httpx2.Auth | None) -> None:
        self._auth = auth

    def auth(self, client: httpx2.Client) -> httpx2.Auth | None:
        return self._auth

    def refused(self) -> bool:
        return False


class _Header(httpx2.Auth):
    def __init__(self, name: str, value: str) -> None:
        self._name, self._value = name, value

    def auth_flow(self, request: httpx2.Request) -> Flow:
        request.headers[self._name] = self._value
        yield request


class _Parameter(_Header):
    def auth_flow(self, request: httpx2.Request) -> Flow:
        # The URL itself stays without the key, since the client logs it.
        request.extensions = {
            **request.extensions,
            "target": request.url.copy_set_param(self._name, self._value).raw_path,
        }
        yield request


class ClientCredentials:
    """Tokens of OAuth2's client credentials (RFC 6749, 4.4), renewed before they end and once they are refused."""

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        self._config, self._clock = config, clock
        self._token: str | None = None
        self._until = 0.0
        self._is_new = False

    def auth(self, client: httpx2.Client) -> httpx2.Auth | None:
        self._is_new = self._token is None or self._clock() >= self._until
        if self._is_new:
            self._renew(client)
        return _Header("Authorization", f"Bearer {self._token}")

    def refused(self) -> bool:
        self._token = None
        return not self._is_new

    def _renew(self, client: httpx2.Client) -> None:
        asked = self._clock()
        until = asked + self._config["request.timeout.ms"] / 1000
        response = client.send(self._request(), auth=None, stream=True)
        with closing(response):
            name = shown(response.request.url)
            if is_passing(response):
                raise refusal(response, name)
            body = content(response, _MOST, lambda: self._clock() > until)
        if not response.is_success:
            raise _refused(response, body, name)
        self._token, lasts = _token(body, name)
        self._until = asked + lasts - min(_EARLY, lasts / 2)

    def _request(self) -> httpx2.Request:
        client, secret = self._config["oauth2.client.id"], self._config["oauth2.client.secret"]
        form = {"grant_type": "client_credentials"}
        if self._config["oauth2.client.scope"]:
            form["scope"] = self._config["oauth2.client.scope"]
        in_form = self._config["oauth2.client.auth.mode"] == "url"
        if in_form:
            form |= {"client_id": client, "client_secret": secret}
        headers = {"Accept": "application/json"}
        request = httpx2.Request("POST", self._config["oauth2.token.url"], data=form, headers=headers)
        # RFC 6749, 2.3.1: what the header has is encoded as in a form. BasicAuth sets it when its request is taken.
        return request if in_form else next(httpx2.BasicAuth(quote_plus(client), quote_plus(secret)).auth_flow(request))


def _refused(response: httpx2.Response, body: bytes, name: str) -> EosfwError:
    reason = _json(body).get("error")
    said = f" ({reason})" if isinstance(reason, str) and reason in _REASONS else ""
    return ConfigError(
        Problem(
            "oauth2.token.url",
            f"{name} gave no token but {response.status_code}{said}; "
            "correct it, oauth2.client.id, oauth2.client.secret or oauth2.client.scope",
        )
    )


def _token(body: bytes, name: str) -> tuple[str, float]:
    """A token, and for how many seconds it lasts."""
    answer = _json(body)
    token, lasts = answer.get("access_token"), answer.get("expires_in")
    if not isinstance(token, str) or not token or not (token.isascii() and token.isprintable()):
        raise DamagedDataError(f"{name} gave no access_token; correct oauth2.token.url")
    try:
        return token, _LASTS if lasts is None else max(0.0, float(lasts))
    except (TypeError, ValueError, OverflowError):
        return token, _LASTS


def _json(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}
