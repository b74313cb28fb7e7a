"""Parts that a property chooses by name: offset store, fencer, isolation reader, converters.

The properties work as those of Kafka Connect's converters: `offset.store=NAME` chooses a part, `offset.store.*` are its
properties. A connector that chooses a part gives all of its properties; those of the worker are for the worker's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from eosfw.config.definition.config_def import Config, ConfigDef
from eosfw.config.definition.layered import originals_with_prefix
from eosfw.errors import ConfigError, Problem

__all__ = [
    "CONVERTERS",
    "CONVERTER_TYPE",
    "FENCER",
    "HEADER_CONVERTER",
    "ISOLATION_READER",
    "KEY_CONVERTER",
    "METRICS_CONTEXT",
    "METRIC_REPORTERS",
    "OFFSET_STORE",
    "PART_PREFIXES",
    "PLUGIN_VERSION",
    "REPORT_INTERVAL",
    "REST_EXTENSIONS",
    "VALUE_CONVERTER",
    "Aliased",
    "Configurable",
    "PartChoice",
    "chosen",
    "chosen_each",
    "without_choice",
]

OFFSET_STORE = "offset.store"
FENCER = "fencer"
ISOLATION_READER = "isolation.reader"
KEY_CONVERTER = "key.converter"
VALUE_CONVERTER = "value.converter"
HEADER_CONVERTER = "header.converter"
REST_EXTENSIONS = "rest.extension.classes"
PLUGIN_VERSION = "plugin.version"
METRIC_REPORTERS = "metric.reporters"
METRICS_CONTEXT = "metrics.context."
REPORT_INTERVAL = "metrics.report.interval.ms"
CONVERTERS = (KEY_CONVERTER, VALUE_CONVERTER, HEADER_CONVERTER)
CONVERTER_TYPE = "converter.type"
"""The property that tells a converter what it converts: `key`, `value` or `header` (Connect's `ConverterConfig`)."""
_Part = TypeVar("_Part")
PART_PREFIXES = tuple(f"{key}." for key in (OFFSET_STORE, FENCER, ISOLATION_READER, *CONVERTERS))


@runtime_checkable
class Configurable(Protocol):
    """A part that takes properties (Kafka's `Configurable`)."""

    config: ClassVar[ConfigDef]
    """The definition of the properties; a name that it does not have is refused with the most similar one."""

    def configure(self, config: Config) -> None:
        """Take the properties; called once, before any other call. ConfigError if they do not fit together."""


@runtime_checkable
class Aliased(Protocol):
    """A part that can be chosen by other names, too (the aliases of Kafka Connect's `Plugins`)."""

    aliases: ClassVar[tuple[str, ...]]
    """Such as the name of a class of Kafka Connect, so that it can share a configuration."""


@dataclass(frozen=True, slots=True)
class PartChoice:
    """The choice of a part by a property, with the properties of the part."""

    key: str
    """The property, such as `offset.store`; it is the prefix of the part's properties."""
    name: str | None = None
    """The name of the part; None for the default."""
    properties: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    """What `plugin.version` behind the prefix says, for a part that has a version of its own (KIP-891)."""

    def config(self, kind: object) -> Config | None:
        """The properties parsed by the part, or its class; None if it takes none."""
        if isinstance(kind, Configurable):
            self._spelt_out(kind.config).parse({f"{self.key}.{name}": text for name, text in self.properties.items()})
            return kind.config.parse(self.properties, self.key)
        if self.properties:
            name = f"{self.key}.{min(self.properties)}"
            raise ConfigError(Problem("", f"unknown configuration {name!r}: {self.shown(kind)} takes no properties"))
        return None

    def configured(self, part: _Part) -> _Part:
        """Configure a part and return it; ConfigError if its properties do not fit."""
        config = self.config(part)
        if config is not None and isinstance(part, Configurable):
            try:
                part.configure(config)
            except ConfigError as error:
                raise ConfigError(*map(self._placed, error.problems)) from None
        return part

    def _placed(self, problem: Problem) -> Problem:
        """A problem that a part found, with the part: a connector may have several of one class."""
        return problem if self.key in problem.what else replace(problem, what=f"{self.key}: {problem.what}")

    def _spelt_out(self, definition: ConfigDef) -> ConfigDef:
        """The definition with the full names that a user writes, for messages."""
        return ConfigDef(*(replace(key, name=f"{self.key}.{name}") for name, key in definition.keys.items()))

    def shown(self, kind: Any) -> str:
        """The kind and name of the part, for messages."""
        return f"{self.key.replace('.', ' ')} {kind.name!r}"


def chosen(key: str, worker: Config, connector: Config | None = None) -> PartChoice:
    """The choice of a connector, else that of its worker."""
    source = worker if connector is None or connector[key] is None else connector
    properties = originals_with_prefix(source.given, f"{key}.")
    version = properties.pop(PLUGIN_VERSION, None) if key in CONVERTERS else None
    return PartChoice(key, source[key], properties, version)


def chosen_each(property_: str, worker: Config) -> list[PartChoice]:
    """The parts that a worker chooses by a property that names several, such as `metric.reporters`."""
    found = []
    for name in worker[property_]:
        key = f"{property_}.{name}"
        found.append(PartChoice(key, name, originals_with_prefix(worker.given, f"{key}.")))
    return found


def without_choice(key: str, connector: Config) -> list[Problem]:
    """Problems with properties of a connector for a part that it does not choose."""
    if connector[key] is not None:
        return []
    left = sorted(name for name in connector.given if name.startswith(f"{key}."))
    return [Problem("", f"{name} is for a part that the connector chooses itself: say {key}, too") for name in left]
