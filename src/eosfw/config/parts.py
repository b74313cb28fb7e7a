"""Let parts be chosen by name, with properties of their own behind that name.

As Kafka Connect has it for converters: `offset.store=NAME` chooses, `offset.store.*` are what it takes. A connector
that chooses for itself gives its own properties; those of the worker are for the worker's choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from eosfw.config.definition import Config, ConfigDef
from eosfw.config.layered import originals_with_prefix
from eosfw.errors import ConfigError, Problem

__all__ = [
    "FENCER",
    "ISOLATION_READER",
    "OFFSET_STORE",
    "PART_PREFIXES",
    "Configurable",
    "PartChoice",
    "chosen",
    "without_choice",
]

OFFSET_STORE = "offset.store"
FENCER = "fencer"
ISOLATION_READER = "isolation.reader"
_Part = TypeVar("_Part")
PART_PREFIXES = tuple(f"{key}." for key in (OFFSET_STORE, FENCER, ISOLATION_READER))


@runtime_checkable
class Configurable(Protocol):
    """An offset store, a fencer or an isolation reader that takes properties (Kafka's `Configurable`)."""

    config: ClassVar[ConfigDef]
    """Their definition; a name that is not in it is refused with the nearest."""

    def configure(self, config: Config) -> None:
        """Take the properties, once, before any other call; ConfigError for what only a look at them shows."""


@dataclass(frozen=True, slots=True)
class PartChoice:
    """A part that somebody chose by a property, and the properties that are for it."""

    key: str
    """The property, such as `offset.store`; those of the part have it for a prefix."""
    name: str | None = None
    """What the part calls itself; None is the default."""
    properties: Mapping[str, str] = field(default_factory=dict)

    def config(self, kind: object) -> Config | None:
        """The properties as the part, or its class, defines them; None if it takes none."""
        if isinstance(kind, Configurable):
            self._spelt_out(kind.config).parse({f"{self.key}.{name}": text for name, text in self.properties.items()})
            return kind.config.parse(self.properties, self.key)
        if self.properties:
            name = f"{self.key}.{min(self.properties)}"
            raise ConfigError(Problem("", f"unknown configuration {name!r}: {self.shown(kind)} takes no properties"))
        return None

    def configured(self, part: _Part) -> _Part:
        """The part, once it has its properties; ConfigError if they do not fit."""
        config = self.config(part)
        if config is not None and isinstance(part, Configurable):
            part.configure(config)
        return part

    def _spelt_out(self, definition: ConfigDef) -> ConfigDef:
        """The same properties by the names that a user writes, for messages."""
        return ConfigDef(*(replace(key, name=f"{self.key}.{name}") for name, key in definition.keys.items()))

    def shown(self, kind: Any) -> str:
        """The part in words: what it is, and its name."""
        return f"{self.key.replace('.', ' ')} {kind.name!r}"


def chosen(key: str, worker: Config, connector: Config | None = None) -> PartChoice:
    """What a connector chose, else its worker."""
    source = worker if connector is None or connector[key] is None else connector
    return PartChoice(key, source[key], originals_with_prefix(source.given, f"{key}."))


def without_choice(key: str, connector: Config) -> list[Problem]:
    """Properties of a connector for a part that it does not choose, so that the worker's would not take them."""
    if connector[key] is not None:
        return []
    left = sorted(name for name in connector.given if name.startswith(f"{key}."))
    return [Problem("", f"{name} is for a part that the connector chooses itself: say {key}, too") for name in left]
