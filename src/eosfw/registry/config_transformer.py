"""Replacement of references such as `${file:/run/db.properties:password}` by values (Kafka's `ConfigTransformer`)."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from eosfw.config.config_providers import chosen_providers, provider_problems
from eosfw.config.definition.config_def import Config, ConfigDef, trimmed
from eosfw.config.definition.layered import originals_with_prefix
from eosfw.config.override_policy import POLICY, is_built_in
from eosfw.config.parts import PartChoice
from eosfw.errors import ConfigError, PluginError, Problem
from eosfw.protocols import ConfigData, ConfigProvider, LookupRefusedError
from eosfw.registry.lookup import Plugins

logger = logging.getLogger(__name__)

_BEGIN = "${"
_END = "}"
_PARTS = re.compile(r"([^:]*):(?:([^:]*):)?(.*)", re.DOTALL)
"""What stands between the two."""
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
    ttl: float | None = None
    """For how many seconds all of these values hold good; None if no provider says so."""

    def restored(self, derived: Mapping[str, str]) -> dict[str, str]:
        """Properties that a connector made of these, with references again (`AbstractHerder.reverseTransform`)."""
        return {name: self._restored(name, text) for name, text in derived.items()}

    def _restored(self, name: str, text: str) -> str:
        if name in self.references and text == self.values[name]:
            return self.references[name]
        # Kafka Connect looks at names alone; a password within a URL of another name would show in the config topic.
        return _substituted(text, {value: reference for reference, value in self.replaced.items()})


_Parts = tuple[str, ...]
"""Provider, path and key of a reference."""


@dataclass(frozen=True, slots=True)
class _Lookups:
    """What the providers said."""

    values: dict[_Parts, str] = field(default_factory=dict)
    refusals: dict[_Parts, str] = field(default_factory=dict)
    ttls: list[float] = field(default_factory=list)


def _split(text: str) -> Iterator[tuple[str, _Parts | None]]:
    """The pieces of a text in their order, each with its parts if it is a reference.

    In a time that grows with the length alone, which the pattern of Kafka's `ConfigTransformer` does not do: a few
    thousand colons behind a `${` would keep every thread of the worker waiting.
    """
    *ended, rest = text.split(_END)
    for piece in ended:
        begin = piece.find(_BEGIN)
        parts = None if begin < 0 else _PARTS.fullmatch(piece, begin + len(_BEGIN))
        if parts is None:
            yield piece + _END, None
        else:
            yield piece[:begin], None
            yield piece[begin:] + _END, parts.groups("")
    yield rest, None


class ConfigTransformer:
    """Looks references up with the providers of a worker, which it closes."""

    def __init__(self, providers: Mapping[str, ConfigProvider]) -> None:
        self._providers = providers

    def close(self) -> None:
        """Close the providers; one that fails then is named in the log."""
        for name, provider in self._providers.items():
            try:
                provider.close()
            except Exception as error:  # noqa: BLE001 what it gave is there, and others are to be closed
                # Its text is not shown: nobody knows whether there is a value in it.
                logger.warning("config provider %r failed when it was closed: %s", name, type(error).__name__)

    def transform(self, properties: Mapping[str, str]) -> TransformedProperties:
        """Replace every reference; ConfigError names the properties that have one without a value.

        What a reference stands for is not looked at again: a value cannot refer to another.
        """
        split = {name: list(_split(text)) for name, text in properties.items()}
        found = {name: [parts for _, parts in pieces if parts is not None] for name, pieces in split.items()}
        lookups = self._looked_up({reference for references in found.values() for reference in references})
        problems = [
            Problem("", f"{name}: {lookups.refusals[reference]}")
            for name, references in found.items()
            for reference in references
            if reference in lookups.refusals
        ]
        if problems:
            raise ConfigError(*problems)
        references = {name: text for name, text in properties.items() if found[name]}
        replaced = {
            text: lookups.values[parts] for pieces in split.values() for text, parts in pieces if parts is not None
        }
        values = {
            name: "".join(text if parts is None else replaced[text] for text, parts in pieces)
            for name, pieces in split.items()
        }
        return TransformedProperties(values, references, replaced, min(lookups.ttls, default=None))

    def _looked_up(self, references: Collection[_Parts]) -> _Lookups:
        """Each provider is asked once for all keys at a path: a service that keeps secrets counts its requests."""
        keys = defaultdict[tuple[str, str], list[str]](list)
        for provider, path, key in sorted(references):
            keys[provider, path].append(key)
        lookups = _Lookups()
        for (provider, path), wanted in keys.items():
            self._look_up(provider, path, wanted, lookups)
        return lookups

    def _look_up(self, provider: str, path: str, keys: Collection[str], lookups: _Lookups) -> None:
        try:
            data = self._data(provider, path, keys)
        except LookupRefusedError as why:
            if len(keys) == 1:
                lookups.refusals.update({(provider, path, key): str(why) for key in keys})
                return
            # One of them is to blame: each by itself tells which, so that no other property is.
            for key in keys:
                self._look_up(provider, path, [key], lookups)
            return
        # Files of secrets mostly end in a line end. What is parsed has none (`ConfigDef.parseType`), and a task's
        # property that was made of it must lead back to the reference.
        lookups.values.update({(provider, path, key): trimmed(data.values[key]) for key in keys})
        if data.ttl is not None:
            lookups.ttls.append(data.ttl)

    def _data(self, provider: str, path: str, keys: Collection[str]) -> ConfigData:
        if provider not in self._providers:
            # The name is not shown: it may be the beginning of a value that only looks like a reference.
            raise LookupRefusedError("refers to a config provider that the worker's config.providers does not name")
        try:
            return _checked(self._providers[provider].get(path, keys), keys)
        except LookupRefusedError as why:
            raise LookupRefusedError(f"config provider {provider!r}: {why}") from None
        except Exception as error:
            # Its text is not shown: nobody knows whether there is a value in it.
            logger.debug("config provider %r failed", provider, exc_info=True)
            raise LookupRefusedError(f"config provider {provider!r} failed: {type(error).__name__}") from None


def _checked(data: object, keys: Collection[str]) -> ConfigData:
    """What a provider returned, if it keeps its contract; LookupRefusedError otherwise."""
    if not isinstance(data, ConfigData):
        raise LookupRefusedError(f"its get returned a {type(data).__name__}; it must return a ConfigData")
    for key in keys:
        given: object = data.values.get(key)
        if not isinstance(given, str):
            raise LookupRefusedError(f"it gives no text for {key!r}")
    return data


def config_transformer(plugins: Plugins, worker: Mapping[str, str]) -> ConfigTransformer:
    """A transformer with the providers that a worker's properties choose; ConfigError lists what is wrong with them."""
    transformer, problems = _made(plugins, worker)
    if problems := [*(Problem("", what) for what in provider_problems(worker)), *problems]:
        transformer.close()
        raise ConfigError(*problems)
    return transformer


def installed_provider_problems(plugins: Plugins, worker: Mapping[str, str]) -> list[Problem]:
    """What is wrong with a worker's config providers for those that are installed."""
    transformer, problems = _made(plugins, worker)
    transformer.close()
    return problems


def _made(plugins: Plugins, worker: Mapping[str, str]) -> tuple[ConfigTransformer, list[Problem]]:
    providers, problems = dict[str, ConfigProvider](), list[Problem]()
    for name, choice in chosen_providers(worker).items():
        try:
            if choice.name is not None:
                providers[name] = choice.configured(plugins.config_provider(choice.name))
        except ConfigError as error:
            problems += error.problems
        except PluginError as error:
            problems.append(Problem("", f"config.providers.{name}.class: {error}"))
        except Exception as error:
            # Its text is not shown: a parameter may be a password.
            logger.debug("config provider %r failed when it was configured", name, exc_info=True)
            what = f"config.providers.{name}: it failed when it was configured: {type(error).__name__}"
            problems.append(Problem("", what))
    return ConfigTransformer(providers), problems


def transform_by(plugins: Plugins, worker: Mapping[str, str], properties: Mapping[str, str]) -> TransformedProperties:
    """Look references up with the providers that a worker's properties name; ConfigError if one has no value."""
    if not any(parts is not None for text in properties.values() for _, parts in _split(text)):
        return TransformedProperties(properties, {}, {})
    transformer = config_transformer(plugins, worker)
    try:
        return transformer.transform(properties)
    finally:
        transformer.close()


def parse_worker(plugins: Plugins, definition: ConfigDef, properties: Mapping[str, str], where: str) -> Config:
    """A worker's properties, which may refer to the providers that they name (Kafka's `AbstractConfig`)."""
    try:
        transformed = transform_by(plugins, properties, properties)
    except ConfigError as error:
        raise ConfigError(*(Problem(where, problem.what) for problem in error.problems)) from None
    try:
        return with_override_policy(plugins, definition.parse(transformed.values, where), where)
    except ConfigError as error:
        problems = (Problem(one.where, redacted(one.what, transformed.replaced.values())) for one in error.problems)
        raise ConfigError(*problems) from None


def with_override_policy(plugins: Plugins, worker: Config, where: str = "") -> Config:
    """A worker's properties in which a policy of a plugin stands for its name; ConfigError if it cannot be made.

    Whoever makes a client of a connector asks the policy, and has the worker's properties at hand.
    """
    name = worker[POLICY]
    if is_built_in(name):
        return worker
    choice = PartChoice(POLICY, name, originals_with_prefix(worker.given, f"{POLICY}."))
    try:
        policy = choice.configured(plugins.client_config_override_policy(name))
    except ConfigError as error:
        raise ConfigError(*(Problem(where, problem.what) for problem in error.problems)) from None
    except PluginError as error:
        raise ConfigError(
            Problem(where, f"{POLICY}={name} is none of None, All, Principal, Allowlist, and there is {error}")
        ) from None
    return Config({**worker, POLICY: policy}, worker.given)


def redacted(text: str, values: Iterable[str]) -> str:
    """A text without these values, but for those that are too short to be told apart."""
    return without_spellings(text, spellings(values))


def spellings(values: Iterable[str]) -> set[str]:
    """How values may stand in a text, but for those that are too short to be told apart."""
    # An error may show a value as it was parsed, without blanks at its ends, and as Python writes it: with quotes and
    # backslashes escaped.
    found = (spelling for value in values for one in (value, trimmed(value)) for spelling in (one, repr(one)[1:-1]))
    return {one for one in found if len(one) >= _SHORTEST}


def without_spellings(text: str, spelt: Iterable[str]) -> str:
    """A text in which nothing stands of what `spellings` gave."""
    # Looked for one by one: of thousands mostly none is there, and to match a pattern of them all takes far longer.
    return _substituted(text, dict.fromkeys([one for one in spelt if one in text], HIDDEN))


def _substituted(text: str, substitutes: Mapping[str, str]) -> str:
    long = sorted((value for value in substitutes if len(value) >= _SHORTEST), key=len, reverse=True)
    if not long:
        return text
    return re.sub("|".join(map(re.escape, long)), lambda found: substitutes[found[0]], text)
