"""The choice of config providers by a worker's properties (`config.providers` of Kafka's `AbstractConfig`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from eosfw.config.definition.config_def import List
from eosfw.config.definition.kinds import Aliases
from eosfw.config.definition.layered import originals_with_prefix
from eosfw.config.parts import PartChoice

_PROVIDERS = "config.providers"
PROVIDER_PREFIX = f"{_PROVIDERS}."
CONFIG_PROVIDERS: Final[List] = Aliases(
    _PROVIDERS,
    (),
    "names of providers of values, comma-separated, for `${NAME:PATH:KEY}` in properties; "
    "`config.providers.NAME.class` says which: FileConfigProvider, DirectoryConfigProvider, EnvVarConfigProvider, or "
    "one of a plugin; `config.providers.NAME.param.*` are for it",
)
"""The definition, for a worker's `ConfigDef`."""


def chosen_providers(properties: Mapping[str, str]) -> dict[str, PartChoice]:
    """The config providers that a worker's properties choose, by the names that references call them."""
    found = {}
    for name in List(_PROVIDERS).parse(properties.get(_PROVIDERS, "")):
        own = originals_with_prefix(properties, f"{PROVIDER_PREFIX}{name}.")
        key = f"{PROVIDER_PREFIX}{name}.param"
        found[name] = PartChoice(key, own.get("class") or None, originals_with_prefix(own, "param."))
    return found


def provider_problems(properties: Mapping[str, str]) -> list[str]:
    """What is wrong with the choice of config providers, whatever is installed."""
    chosen = chosen_providers(properties)
    problems = [f"{PROVIDER_PREFIX}{name} needs a class" for name, choice in chosen.items() if choice.name is None]
    for name in properties:
        if not name.startswith(PROVIDER_PREFIX):
            continue
        provider = next((one for one in chosen if name.startswith(f"{PROVIDER_PREFIX}{one}.")), None)
        if provider is None:
            problems.append(f"{name} is for a provider that {_PROVIDERS} does not name")
            continue
        own = name.removeprefix(f"{PROVIDER_PREFIX}{provider}.")
        if own != "class" and not own.startswith("param."):
            problems.append(f"unknown configuration {name!r}: a config provider has class and param.*")
    return problems
