"""Say Kafka's client properties in the words of a client library, or refuse them.

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

from eosfw.config.definition import nearest
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
"""From here on Java means "wait for ever"; we wait for our own deadline (CFG-08)."""
NO_SERVERS: Final = 'Missing required configuration "bootstrap.servers"; say HOST:PORT of a broker'
_SECRET = re.compile(r"password|jaas|secret|token|key")


class Client(Flag):
    """Which kind of client knows a property."""

    PRODUCER = auto()
    CONSUMER = auto()
    ADMIN = auto()
    ANY = PRODUCER | CONSUMER | ADMIN


@dataclass(frozen=True, slots=True)
class Translation:
    """How one of Kafka's properties is said to a library; no `name` means that the backend acts on it, or need not."""

    clients: Client
    name: str | None = None
    convert: Callable[[str], Any] = str.strip
    """Makes the library's value of a text; raises ValueError for one that has none."""
    refusal: str = "Not a number"
    """What is wrong with a text that `convert` refuses."""


def handled_by_backend(clients: Client, *names: str) -> dict[str, Translation]:
    """Lines of a table for what is known, yet not said to the library."""
    return {name: Translation(clients) for name in names}


@dataclass(frozen=True, slots=True)
class Translator:
    """The words of one library: its table by Kafka's names, what is said unasked, what is said whatever was asked.

    `hints` tell what to do about well-known names that have no translation. `defaults` and `fixed` are names and values
    of the library itself; those of `Client.ANY` go to every client.
    """

    backend: str
    table: Mapping[str, Translation]
    hints: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[Client, Mapping[str, Any]] = field(default_factory=dict)
    fixed: Mapping[Client, Mapping[str, Any]] = field(default_factory=dict)

    def check(self, properties: Mapping[str, str]) -> None:
        """Raise ConfigError with every name that no client understands, else with a value that one cannot take.

        `Backend.connect` asks this, so that a mistake is found before anything is made.
        """
        found = self._problems(properties, Client.ANY)
        if not properties.get("bootstrap.servers", "").strip():
            found.append(Problem("", NO_SERVERS))
        if found:
            raise ConfigError(*found)
        for client in Client:
            self.translate(properties, client)

    def problems(self, properties: Mapping[str, str], client: Client) -> list[Problem]:
        """What keeps one kind of client from taking these properties; the place of each is the property's name.

        `Backend.problems` answers with this.
        """
        return refusals(properties, lambda one: self.translate({}, client, one))

    def translate(
        self, properties: Mapping[str, str], client: Client, overrides: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Say `properties`, then `overrides`, in the library's words; ConfigError for what has none for this client.

        `properties` are those of the whole backend: what another kind of client knows is left out in silence.
        """
        own = dict(overrides or {})
        if found := self._problems(own, client):
            raise ConfigError(*found)
        arguments = _of(self.defaults, client)
        for name, text in {**properties, **own}.items():
            entry = self.table[name]
            if entry.name is not None and client in entry.clients:
                arguments[entry.name] = _converted(name, text, entry)
        return {**arguments, **_of(self.fixed, client)}

    def _problems(self, properties: Mapping[str, str], client: Client) -> list[Problem]:
        known = {name: entry.clients for name, entry in self.table.items()}
        return problems(properties, client, known, f"the {self.backend} backend cannot translate", self.hints)


def problems(
    properties: Mapping[str, str],
    client: Client,
    known: Mapping[str, Client],
    refusal: str,
    hints: Mapping[str, str] | None = None,
) -> list[Problem]:
    """What is wrong with the names of properties that were written for one kind of client.

    `refusal` begins the sentence about a name that nobody knows, such as "the memory backend does not know".
    """

    def why(name: str) -> str:
        if name in known:
            return f"{name} is no property of a Kafka {str(client.name).lower()} client"
        near = nearest(name, known)
        hint = (hints or {}).get(name) or (f"did you mean {near}?" if near else "remove it, or choose another backend")
        return f"{refusal} {name}: {hint}"

    return [Problem("", why(name)) for name in properties if not known.get(name, Client(0)) & client]


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
    """A number that the backend acts on itself; ConfigError for what is none."""
    text = properties.get(name, "").strip()
    return int(_converted(name, text, Translation(Client.ANY, name, int))) if text else default


def seconds(properties: Mapping[str, str], name: str, default: float) -> float:
    """A wait in seconds, of which Kafka says milliseconds; Java's "for ever" becomes the default (CFG-08)."""
    milliseconds = number(properties, name, FOREVER)
    return default if milliseconds >= FOREVER else milliseconds / 1000


def _of(arguments: Mapping[Client, Mapping[str, Any]], client: Client) -> dict[str, Any]:
    return {name: value for clients, each in arguments.items() if client in clients for name, value in each.items()}


def _converted(name: str, text: str, entry: Translation) -> Any:
    try:
        return entry.convert(text)
    except ValueError:
        shown = "[hidden]" if _SECRET.search(name) else text
        raise ConfigError(Problem("", f"Invalid value {shown} for configuration {name}: {entry.refusal}")) from None
