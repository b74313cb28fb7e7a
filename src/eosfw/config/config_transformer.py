"""Replacement of references such as `${file:/run/db.properties:password}` by values (Kafka's `ConfigTransformer`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from eosfw.config.config_providers import ConfigProvider, LookupRefusedError, config_providers
from eosfw.config.definition import Config, ConfigDef
from eosfw.errors import ConfigError, Problem

_REFERENCE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")
HIDDEN = "[hidden]"
_SHORTEST = 4
"""Shorter values are in texts by accident, so they are neither hidden nor put back."""


@dataclass(frozen=True, slots=True)
class TransformedProperties:
    """Properties with the values that their references stand for (Kafka's `ConfigTransformerResult`)."""

    values: Mapping[str, str] = field(repr=False)
    references: Mapping[str, str]
    """The properties that have references, as they were written."""
    replaced: Mapping[str, str] = field(repr=False)
    """Each reference with its value."""

    def redacted(self, text: str) -> str:
        """A text without the values of references."""
        return redacted(text, self.replaced.values())

    def restored(self, derived: Mapping[str, str]) -> dict[str, str]:
        """Properties that a connector made of these, with references again (`AbstractHerder.reverseTransform`)."""
        return {name: self._restored(name, text) for name, text in derived.items()}

    def _restored(self, name: str, text: str) -> str:
        if name in self.references and text == self.values[name]:
            return self.references[name]
        # Kafka Connect looks at names alone; a password within a URL of another name would show in the config topic.
        return _substituted(text, {value: reference for reference, value in self.replaced.items()})


class ConfigTransformer:
    """Looks references up with the providers of a worker."""

    def __init__(self, providers: Mapping[str, ConfigProvider]) -> None:
        self._providers = providers

    def transform(self, properties: Mapping[str, str]) -> TransformedProperties:
        """Replace every reference; ConfigError names the properties that have one without a value.

        What a reference stands for is not looked at again: a value cannot refer to another.
        """
        problems: list[Problem] = []
        replaced: dict[str, str] = {}
        for name, text in properties.items():
            for reference in _REFERENCE.finditer(text):
                try:
                    replaced[reference[0]] = self._value(*reference.groups(""))
                except LookupRefusedError as why:
                    problems.append(Problem("", f"{name}: {why}"))
        if problems:
            raise ConfigError(*problems)
        values = {name: _REFERENCE.sub(lambda one: replaced[one[0]], text) for name, text in properties.items()}
        references = {name: text for name, text in properties.items() if _REFERENCE.search(text)}
        return TransformedProperties(values, references, replaced)

    def _value(self, provider: str, path: str, key: str) -> str:
        if provider not in self._providers:
            # The name is not shown: it may be the beginning of a value that only looks like a reference.
            raise LookupRefusedError("refers to a config provider that the worker's config.providers does not name")
        try:
            return self._providers[provider].get(path, key)
        except LookupRefusedError as why:
            raise LookupRefusedError(f"config provider {provider!r}: {why}") from None


def transform_by(worker: Mapping[str, str], properties: Mapping[str, str]) -> TransformedProperties:
    """Look references up with the providers that a worker's properties name; ConfigError if one has no value."""
    providers = config_providers(worker) if has_reference(properties) else {}
    return ConfigTransformer(providers).transform(properties)


def parse_worker(definition: ConfigDef, properties: Mapping[str, str], where: str) -> Config:
    """A worker's properties, which may refer to the providers that they name (Kafka's `AbstractConfig`)."""
    try:
        transformed = transform_by(properties, properties)
    except ConfigError as error:
        raise ConfigError(*(Problem(where, problem.what) for problem in error.problems)) from None
    try:
        return definition.parse(transformed.values, where)
    except ConfigError as error:
        problems = (Problem(one.where, transformed.redacted(one.what)) for one in error.problems)
        raise ConfigError(*problems) from None


def has_reference(properties: Mapping[str, str]) -> bool:
    """Whether any property has a reference."""
    return any(_REFERENCE.search(text) for text in properties.values())


def redacted(text: str, values: Iterable[str]) -> str:
    """A text without these values, but for those that are too short to be told apart."""
    return _substituted(text, dict.fromkeys(values, HIDDEN))


def _substituted(text: str, substitutes: Mapping[str, str]) -> str:
    long = sorted((value for value in substitutes if len(value) >= _SHORTEST), key=len, reverse=True)
    if not long:
        return text
    return re.sub("|".join(map(re.escape, long)), lambda found: substitutes[found[0]], text)
