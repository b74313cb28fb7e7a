"""Requests that pages of other origins send (`access.control.*` of Kafka Connect's `RestServerConfig`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from starlette.middleware.cors import CORSMiddleware

from eosfw.config import Config
from eosfw.errors import ConfigError, Problem
from eosfw_rest.network.gate import Gate, framing_refusal
from eosfw_rest.network.sending import Receive, Scope, Send

ORIGINS: Final = "access.control.allow.origin"
METHODS: Final = "access.control.allow.methods"
_USUAL_METHODS: Final = ("GET", "POST", "HEAD")
_KNOWN_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"))
_HEADERS: Final = ("X-Requested-With", "Content-Type", "Accept", "Origin", "Authorization")
"""What such a request may carry: Kafka Connect's, and the password or token that the page has been given."""
_SECONDS: Final = 1800
"""How long a browser may keep an answer, as in Kafka Connect."""
_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.*:\[\]-]+")


class CrossOrigin:
    """Answers a browser's question whether a page may send a request, and marks the answers that it may read.

    In front of authentication, since browsers ask without a password. The passwords and cookies that a browser keeps
    never count: a page has to have its own.
    """

    def __init__(self, gate: Gate, config: Config) -> None:
        origins = allowed_origins(config)
        everybody = "*" in origins
        self._gate = gate
        self._filter: Any = CORSMiddleware(
            gate,
            allow_origins=("*",) if everybody else (),
            allow_origin_regex=None if everybody else "|".join(map(_pattern, origins)),
            allow_methods=allowed_methods(config),
            allow_headers=_HEADERS,
            max_age=_SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Who answers without the gate must refuse what the gate refuses first.
        app = self._gate if framing_refusal(scope["headers"]) else self._filter
        await app(scope, receive, send)


def allowed_origins(config: Config) -> tuple[str, ...]:
    """The origins whose pages may send requests; ConfigError for a text that is none."""
    origins: tuple[str, ...] = config[ORIGINS]
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            what = f"{ORIGINS}: {origin!r} must be http://HOST:PORT, https://HOST:PORT or *"
            raise ConfigError(Problem("", what))
    return origins


def allowed_methods(config: Config) -> tuple[str, ...]:
    """The methods of such requests; ConfigError for one that does not exist."""
    methods: tuple[str, ...] = tuple(method.upper() for method in config[METHODS])
    for method in methods:
        if method not in _KNOWN_METHODS:
            raise ConfigError(Problem("", f"{METHODS}: {method!r} must be one of {', '.join(sorted(_KNOWN_METHODS))}"))
    return methods or _USUAL_METHODS


def origin_check(config: Config) -> Callable[[str], bool]:
    """What says whether pages of an origin may send requests."""
    origins = allowed_origins(config)
    if "*" in origins:
        return lambda _: True
    patterns = [re.compile(_pattern(origin)) for origin in origins]
    return lambda origin: any(pattern.fullmatch(origin) for pattern in patterns)


def _pattern(origin: str) -> str:
    # A star stands for subdomains, as in `https://*.example.org`, never for the end of a host's name.
    return re.escape(origin).replace(r"\*", r"[A-Za-z0-9.-]*")
