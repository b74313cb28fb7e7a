"""Headers of every answer, by a worker's rules (KIP-577, `response.http.headers.config`)."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any, Final

from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.errors import ConfigError, Problem
from eosfw_rest.network.sending import Receive, Scope, Send

RULES: Final = "response.http.headers.config"
_ACTIONS: Final = ("set", "add", "setDate", "addDate")
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FRAMING: Final = frozenset(("content-length", "transfer-encoding", "connection"))
"""What says where an answer ends is the server's alone."""


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """One header: whether it replaces an earlier one of its name, and its value, or milliseconds from now on."""

    name: str
    replaces: bool
    value: str | int

    def header(self, now: float) -> tuple[bytes, bytes]:
        """The header as it is sent."""
        text = self.value if isinstance(self.value, str) else formatdate(now + self.value / 1000, usegmt=True)
        return self.name.lower().encode(), text.encode("latin-1")


class ResponseHeaders:
    """An ASGI application around another, which adds headers to its answers (Jetty's `HeaderFilter`)."""

    def __init__(self, app: Any, rules: Sequence[HeaderRule], runtime: Runtime) -> None:
        self._app, self._rules, self._runtime = app, rules, runtime

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": self._changed(message.get("headers", ()))}
            await send(message)

        await self._app(scope, receive, with_headers)

    def _changed(self, headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        changed, now = list(headers), self._runtime.wall()
        for rule in self._rules:
            name, value = rule.header(now)
            if rule.replaces:
                changed = [pair for pair in changed if pair[0].lower() != name]
            changed.append((name, value))
        return changed


def header_rules(config: Config) -> tuple[HeaderRule, ...]:
    """The rules of a worker; ConfigError, with Kafka Connect's text, for one that cannot be read."""
    try:
        # Commas separate rules, and stand in one that is quoted as a whole.
        texts = next(csv.reader([config[RULES]], skipinitialspace=True, strict=True), [])
        return tuple(_rule(text.strip()) for text in texts if text.strip())
    except (ValueError, csv.Error) as why:
        raise ConfigError(Problem("", f"Invalid value for configuration {RULES}: {why}")) from None


def _rule(text: str) -> HeaderRule:
    action, _, header = text.partition(" ")
    if not header.strip():
        raise ValueError(f"Invalid format of header config '{text}'. Expected: '[action] [header name]:[header value]'")
    known = next((one for one in _ACTIONS if one.lower() == action.lower()), None)
    if known is None:
        raise ValueError(f"Invalid header config action: '{action}'. Expected one of [{', '.join(_ACTIONS)}]")
    name, colon, value = header.partition(":")
    if not colon or not value.strip():
        raise ValueError(
            f"Invalid format of header name and header value pair '{header.strip()}'. "
            "Expected: '[header name]:[header value]'"
        )
    return HeaderRule(_name(name.strip()), known.startswith("set"), _value(known, value.strip()))


def _name(name: str) -> str:
    if not name or any(character.isspace() for character in name):
        raise ValueError(f"Invalid header name '{name}'. The '[header name]' cannot contain whitespace")
    if not _TOKEN.fullmatch(name) or name.lower() in _FRAMING:
        raise ValueError(f"Invalid header name '{name}'. It is no header that may be set")
    return name


def _value(action: str, value: str) -> str | int:
    if action.endswith("Date"):
        try:
            return int(value)
        except ValueError:
            raise ValueError(f"Invalid header value '{value}'. {action} takes milliseconds from now on") from None
    if not value.isprintable() or not value.isascii():
        raise ValueError("Invalid header value. It holds a character that no header has")
    return value
