"""Translation of Kafka's client properties into those of a client library.

Users write Java's names whatever client they chose (CFG-07). A backend holds one table of them, each with the name that
its library has for it, and asks a `Translator` for the rest:

    TRANSLATOR = Translator("mine", {"linger.ms": Translation(Client.PRODUCER, "linger", int)})
    TRANSLATOR.check(properties)
    TRANSLATOR.problems(overrides, Client.PRODUCER)
    arguments = TRANSLATOR.translate(properties, Client.PRODUCER, overrides)

A name that no table holds is an error, never dropped: a property without effect is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Any, Final

from eosfw.config.definition.config_def import nearest
from eosfw.config.security import SECURITY_NAMES, SecuritySettings, canonical, layered, security_settings
from eosfw.errors import ConfigError, Problem

__all__ = [
    "FOREVER",
    "NO_SERVERS",
    "Client",
    "Translation",
    "Translator",
    "handled_by_backend",
    "number",
    "problems",
    "refusals",
    "seconds",
]

FOREVER: Final = 2_147_483_647
"""From here on Java waits for ever; backends wait for their own deadline instead (CFG-08)."""
NO_SERVERS: Final = 'Missing required configuration "bootstrap.servers"; say HOST:PORT of a broker'
_SECRET = re.compile(r"password|jaas|secret|token|key")


class Client(Flag):
    """The kinds of client that have a property."""

    PRODUCER = auto()
    CONSUMER = auto()
    ADMIN = auto()
    ANY = PRODUCER | CONSUMER | ADMIN


@dataclass(frozen=True, slots=True)
class Translation:
    """The library's name and value of one property; without `name` the backend handles the property itself."""

    clients: Client
    name: str | None = None
    convert: Callable[[str], Any] = str.strip
    """Converts the text; raises ValueError for a text that the library has no value for."""
    refusal: str = "Not a number"
    """The message about a text that `convert` refuses."""


def handled_by_backend(clients: Client, *names: str) -> dict[str, Translation]:
    """Entries of a table for properties that the backend handles itself."""
    return {name: Translation(clients) for name in names}


@dataclass(frozen=True, slots=True)
class Translator:
    """Translates properties for one library, by a table of Kafka's names.

    `hints` tell what to do about well-known names that have no translation. `defaults` are properties of the library
    that a user may override, `fixed` those that nothing overrides; those of `Client.ANY` are for every client.
    `security` gives the library's arguments for what the security properties mean, which then need no translation.
    """

    backend: str
    table: Mapping[str, Translation]
    hints: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[Client, Mapping[str, Any]] = field(default_factory=dict)
    fixed: Mapping[Client, Mapping[str, Any]] = field(default_factory=dict)
    security: Callable[[SecuritySettings], Mapping[str, Any]] | None = None

    def check(self, properties: Mapping[str, str]) -> None:
        """Raise ConfigError with every name that no client understands, else with a value that one cannot take.

        `Backend.connect` asks this, so that a mistake is found before anything is made.
        """
        found = self._problems(properties, Client.ANY)
        if not str(properties.get("bootstrap.servers", "")).strip():
            found.append(Problem("", NO_SERVERS))
        if found:
            raise ConfigError(*found)
        for client in Client:
            self.translate(properties, client)

    def problems(self, properties: Mapping[str, str], client: Client) -> list[Problem]:
        """What is wrong with properties for one kind of client; the place of each problem is the property's name.

        `Backend.problems` answers with this.
        """
        security = {name: text for name, text in properties.items() if self._is_security(name)}
        others = {name: text for name, text in properties.items() if name not in security}
        # What security properties mean together shows only with those of the other layers.
        found = refusals(security, canonical)
        return found + refusals(others, lambda one: self.translate({}, client, one))

    def translate(
        self, properties: Mapping[str, str], client: Client, overrides: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The properties of the library for one client; ConfigError for an override that the client does not have.

        `properties` are those of the whole backend: what another kind of client knows is left out in silence.
        """
        own = dict(overrides or {})
        if found := self._problems(own, client):
            raise ConfigError(*found)
        arguments = _of(self.defaults, client)
        merged = {**properties, **own} if self.security is None else layered(properties, own)
        for name, text in merged.items():
            if self._is_security(name):
                continue
            entry = self.table[name]
            if entry.name is not None and client in entry.clients:
                arguments[entry.name] = _converted(name, text, entry)
        secured = {} if self.security is None else self.security(security_settings(merged))
        return {**arguments, **secured, **_of(self.fixed, client)}

    def _is_security(self, name: str) -> bool:
        return self.security is not None and name in SECURITY_NAMES

    def _problems(self, properties: Mapping[str, str], client: Client) -> list[Problem]:
        known = {name: entry.clients for name, entry in self.table.items()}
        if self.security is not None:
            known |= dict.fromkeys(SECURITY_NAMES, Client.ANY)
        return problems(properties, client, known, f"the {self.backend} backend cannot translate", self.hints)


def problems(
    properties: Mapping[str, str],
    client: Client,
    known: Mapping[str, Client],
    refusal: str,
    hints: Mapping[str, str] | None = None,
) -> list[Problem]:
    """What is wrong with the names of properties that were written for one kind of client; values must be texts.

    `refusal` begins the sentence about a name that nobody knows, such as "the memory backend does not know".
    """

    def why(name: str) -> str:
        if name in known:
            return f"{name} is no property of a Kafka {str(client.name).lower()} client"
        near = nearest(name, known)
        hint = (hints or {}).get(name) or (f"did you mean {near}?" if near else "remove it, or choose another backend")
        return f"{refusal} {name}: {hint}"

    found = [Problem("", why(name)) for name in properties if not known.get(name, Client(0)) & client]
    no_texts: list[tuple[str, Any]] = [each for each in properties.items() if not isinstance(each[1], str)]
    return found + [Problem("", _invalid(name, value, "it must be a text (str)")) for name, value in no_texts]


def refusals(properties: Mapping[str, str], take: Callable[[Mapping[str, str]], object]) -> list[Problem]:
    """The problems of properties that `take` raises ConfigError for, one property at a time, each at its name."""
    found: list[Problem] = []
    for name, text in properties.items():
        try:
            take({name: text})
        except ConfigError as error:
            found += [Problem(name, problem.what) for problem in error.problems]
    return found


def number(properties: Mapping[str, str], name: str, default: int) -> int:
    """A number of at least 0 that the backend uses itself; ConfigError for any other text."""
    text = properties.get(name, "").strip()
    found = int(_converted(name, text, Translation(Client.ANY, name, int))) if text else default
    if found < 0:
        raise ConfigError(Problem("", _invalid(name, text, "Value must be at least 0")))
    return found


def seconds(properties: Mapping[str, str], name: str, default: float) -> float:
    """A duration in seconds, which the property has in milliseconds; Java's "for ever" becomes the default (CFG-08)."""
    milliseconds = number(properties, name, FOREVER)
    return default if milliseconds >= FOREVER else milliseconds / 1000


def _of(arguments: Mapping[Client, Mapping[str, Any]], client: Client) -> dict[str, Any]:
    return {name: value for clients, each in arguments.items() if client in clients for name, value in each.items()}


def _converted(name: str, text: str, entry: Translation) -> Any:
    try:
        return entry.convert(text)
    except ValueError:
        raise ConfigError(Problem("", _invalid(name, text, entry.refusal))) from None


def _invalid(name: str, value: object, why: str) -> str:
    return f"Invalid value {'[hidden]' if _SECRET.search(name) else value} for configuration {name}: {why}"
