"""Definitions of what a connector's converters, transformations and predicates take, as user interfaces show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from eosfw.config.connector import CONNECTOR_VERSION
from eosfw.config.connector.transforms import NEGATE, PREDICATE, PREDICATES, TRANSFORMS, TYPE, chosen_part
from eosfw.config.definition.config_def import Boolean, ConfigDef, Key, String, Values
from eosfw.config.definition.kinds import PluginClass
from eosfw.config.definition.version_range import PluginVersion
from eosfw.config.parts import CONVERTERS, HEADER_CONVERTER, PLUGIN_VERSION, Configurable
from eosfw.errors import PluginError
from eosfw.registry.lookup import Plugins

_ROLES = {TRANSFORMS: "transformation", PREDICATES: "predicate"}


def with_part_definitions(
    definition: ConfigDef, plugins: Plugins, worker: Mapping[str, str], given: Mapping[str, str], values: Values
) -> ConfigDef:
    """A connector's definition with those of the parts that it chooses (Kafka Connect's `ConnectorConfig.enrich`).

    `given` are the properties as they were written, `values` those that could be parsed. Each alias of a transformation
    or predicate has a group of its own.
    """
    keys: list[Key] = []
    for key in definition.keys.values():
        if key.name in CONVERTERS:
            keys += _converter(key, plugins, worker)
        elif key.name == CONNECTOR_VERSION:
            version = plugins.connector_version(given.get("connector.class", ""))
            keys.append(replace(key, recommended=partial(_always, [] if version is None else [version])))
        else:
            keys.append(key)
    aliases = ((role, alias) for role in _ROLES for alias in dict.fromkeys(values.get(role) or ()))
    return ConfigDef(*keys, *(key for role, alias in aliases for key in _alias(role, alias, plugins, given, values)))


def _converter(key: Key, plugins: Plugins, worker: Mapping[str, str]) -> Iterator[Key]:
    roles = ("header converter", "converter") if key.name == HEADER_CONVERTER else ("converter",)
    names = [name for role in roles for name in plugins.names(role)]
    yield replace(key, default=worker.get(key.name), recommended=partial(_always, names))
    yield PluginVersion(
        f"{key.name}.{PLUGIN_VERSION}",
        None,
        f"the version of {key.name} that must be installed, or a range; default: any",
        importance="LOW",
        group=key.group,
        width="SHORT",
        display_name=f"{(key.display_name or key.name).removesuffix(' class')} version",
    )


def _alias(role: str, alias: str, plugins: Plugins, given: Mapping[str, str], values: Values) -> Iterator[Key]:
    word, prefix = _ROLES[role], f"{role}.{alias}."
    chosen = chosen_part(role, alias, given)
    own = _definition_of(plugins, word, chosen.name)
    parsed = {**dict.fromkeys(own.keys), **own.read(chosen.properties)[0]}
    title = word.capitalize()
    first = (
        PluginClass(
            prefix + TYPE,
            doc=f"name or class of {word} {alias!r}",
            width="LONG",
            display_name=f"{title} type for {alias}",
            recommended=partial(_always, plugins.names(word)),
        ),
        PluginVersion(
            prefix + PLUGIN_VERSION,
            None,
            f"the version of {word} {alias!r} that must be installed, or a range; default: any",
            importance="HIGH",
            width="LONG",
            display_name=f"{title} version for {alias}",
        ),
    )
    others = [*own.keys.values(), *(_choosing(values) if role == TRANSFORMS else ())]
    rest = (_embedded(key, prefix, parsed) for key in sorted(others, key=lambda key: key.name))
    for order, key in enumerate((*first, *rest)):
        yield replace(key, order=order, group=f"{role.capitalize()}: {alias}")


def _choosing(values: Values) -> tuple[Key, ...]:
    """Which records a transformation is for."""
    predicates = tuple(values.get(PREDICATES) or ())
    return (
        Boolean(NEGATE, False, "whether the transformation is for all records but those of its predicate"),
        String(
            PREDICATE,
            None,
            "alias of the predicate that chooses its records; default: all records",
            recommended=partial(_always, predicates),
        ),
    )


def _definition_of(plugins: Plugins, role: str, name: str | None) -> ConfigDef:
    find: Callable[[str], object] = plugins.transformation if role == "transformation" else plugins.predicate
    try:
        part = None if name is None else find(name)
    except PluginError:  # validation says so
        return ConfigDef()
    return part.config if isinstance(part, Configurable) else ConfigDef()


def _embedded(key: Key, prefix: str, parsed: Values) -> Key:
    """A property of a part behind the part's prefix; it is recommended values by the part's own properties."""
    return replace(
        key,
        name=prefix + key.name,
        display_name=key.display_name or key.name,
        dependents=tuple(prefix + one for one in key.dependents),
        recommended=None if key.recommended is None else partial(_with, key.recommended, parsed),
        visible=None if key.visible is None else partial(_with, key.visible, parsed),
    )


def _with(ask: Callable[[Values], Any], parsed: Values, _: Values) -> Any:
    return ask(parsed)


def _always(values: Iterable[Any], _: Values) -> Iterable[Any]:
    return values
