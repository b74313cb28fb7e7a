"""Where values outside the configuration come from (Kafka's `ConfigProvider`s for files, folders and the environment).

Kafka's providers read whatever they are asked for, and properties may come from anybody who reaches the REST interface
(CVE-2024-31141). Here a provider reads nothing but what its own parameters allow.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from eosfw.config.allowed_paths import AllowedPaths, allowed_path
from eosfw.config.definition import Key, List
from eosfw.config.layered import originals_with_prefix
from eosfw.config.properties_file import parse_properties
from eosfw.errors import ConfigError, Problem

__all__ = ["CONFIG_PROVIDERS", "PROVIDER_PREFIX", "ConfigProvider", "LookupRefusedError", "config_providers"]

PROVIDERS = "config.providers"
PROVIDER_PREFIX = f"{PROVIDERS}."
CONFIG_PROVIDERS: Final[tuple[Key, ...]] = (
    List(
        PROVIDERS,
        (),
        "names of providers of values, comma-separated, for `${NAME:PATH:KEY}` in connectors' properties; "
        "`config.providers.NAME.class` is FileConfigProvider, DirectoryConfigProvider (both with "
        "`config.providers.NAME.param.allowed.paths`) or EnvVarConfigProvider (with "
        "`config.providers.NAME.param.allowlist.pattern`)",
    ),
)
"""The definitions, for a worker's `ConfigDef`."""
_LONGEST = 1024 * 1024
_JAVA_PACKAGE = "org.apache.kafka.common.config.provider."
_PATHS, _PATTERN = "allowed.paths", "allowlist.pattern"


class LookupRefusedError(ValueError):
    """A provider has no such value, or may not read it; the text shows no value."""


class ConfigProvider(Protocol):
    """Looks values up (Kafka's `ConfigProvider`)."""

    def get(self, path: str, key: str) -> str:
        """Return the value of a key at a path, which may be empty; LookupRefusedError if there is none."""


class FileConfigProvider:
    """Values of a properties file at an allowed path."""

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self._roots = _roots(parameters)

    def get(self, path: str, key: str) -> str:
        try:
            values = parse_properties(_text(path, self._roots))
        except LookupRefusedError:
            raise
        except ValueError as why:
            raise LookupRefusedError(f"its file is no properties file: {why}") from None
        if key not in values:
            raise LookupRefusedError(f"its file has no {key!r}")
        return values[key]


class DirectoryConfigProvider:
    """Whole files of a folder at an allowed path, as Kubernetes mounts secrets."""

    def __init__(self, parameters: Mapping[str, str]) -> None:
        self._roots = _roots(parameters)

    def get(self, path: str, key: str) -> str:
        if not key or "/" in key or key in (".", ".."):
            raise LookupRefusedError("a key is the name of a file in the folder")
        return _text(f"{path}/{key}" if path else "", self._roots)


class EnvVarConfigProvider:
    """Environment variables of this process whose names match a pattern."""

    def __init__(self, parameters: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> None:
        if _PATTERN not in parameters:
            raise ValueError(f"needs param.{_PATTERN}, a regular expression for the names that may be read")
        try:
            self._pattern = re.compile(parameters[_PATTERN])
        except re.error as why:
            raise ValueError(f"has a malformed param.{_PATTERN}: {why}") from None
        self._environment = environment

    def get(self, path: str, key: str) -> str:
        if path:
            raise LookupRefusedError("environment variables have no path: write ${NAME:VARIABLE}")
        if not self._pattern.fullmatch(key):
            raise LookupRefusedError(f"its param.{_PATTERN} does not allow {key!r}")
        if key not in self._environment:
            raise LookupRefusedError(f"the environment has no {key!r}")
        return self._environment[key]


_Kind = Callable[[Mapping[str, str]], ConfigProvider]
_KINDS: Mapping[str, _Kind] = {
    "FileConfigProvider": FileConfigProvider,
    "DirectoryConfigProvider": DirectoryConfigProvider,
    "EnvVarConfigProvider": EnvVarConfigProvider,
}


def config_providers(properties: Mapping[str, str]) -> dict[str, ConfigProvider]:
    """The providers that a worker's properties name; ConfigError with everything that is wrong with them."""
    names = List(PROVIDERS).parse(properties.get(PROVIDERS, ""))
    problems = _stray_problems(properties, names)
    found: dict[str, ConfigProvider] = {}
    for name in names:
        try:
            found[name] = _provider(originals_with_prefix(properties, f"{PROVIDER_PREFIX}{name}."))
        except ValueError as why:
            problems.append(Problem("", f"{PROVIDER_PREFIX}{name} {why}"))
    if problems:
        raise ConfigError(*problems)
    return found


def _provider(own: Mapping[str, str]) -> ConfigProvider:
    name = own.get("class", "").removeprefix(_JAVA_PACKAGE)
    if name not in _KINDS:
        raise ValueError(f"needs a class: one of {', '.join(_KINDS)}")
    known = ("class", f"param.{_PATTERN if name == 'EnvVarConfigProvider' else _PATHS}")
    if odd := sorted(set(own) - set(known)):
        raise ValueError(f"does not know {odd[0]!r}; there is: {', '.join(known)}")
    return _KINDS[name](originals_with_prefix(own, "param."))


def _stray_problems(properties: Mapping[str, str], names: tuple[str, ...]) -> list[Problem]:
    known = tuple(f"{PROVIDER_PREFIX}{name}." for name in names)
    stray = [name for name in properties if name.startswith(PROVIDER_PREFIX) and not name.startswith(known)]
    return [Problem("", f"{name} is for a provider that {PROVIDERS} does not name") for name in stray]


def _roots(parameters: Mapping[str, str]) -> tuple[str, ...]:
    roots = AllowedPaths(_PATHS).parse(parameters.get(_PATHS, ""))
    if not roots:
        raise ValueError(f"needs param.{_PATHS}: the files or folders, comma-separated, that may be read")
    return roots


def _text(path: str, roots: tuple[str, ...]) -> str:
    real = allowed_path(path, roots)
    if real is None:
        raise LookupRefusedError(f"its param.{_PATHS} do not allow this path")
    try:
        return _read(real)
    except OSError as why:
        raise LookupRefusedError(f"the file cannot be read: {why.strerror or type(why).__name__}") from None
    except UnicodeDecodeError:
        raise LookupRefusedError("the file is no UTF-8") from None


def _read(path: Path) -> str:
    if not path.is_file():  # a pipe, or a device, would never end
        raise LookupRefusedError("there is no such file")
    with path.open("rb") as file:
        content = file.read(_LONGEST + 1)
    if len(content) > _LONGEST:
        raise LookupRefusedError(f"the file is longer than {_LONGEST} bytes")
    return content.decode()
