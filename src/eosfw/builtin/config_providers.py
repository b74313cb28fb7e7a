"""Kafka's `ConfigProvider`s for files, folders and the environment.

Kafka's providers read whatever they are asked for, and properties may come from anybody who reaches the REST interface
(CVE-2024-31141). Here a provider reads nothing but what its own parameters allow.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from eosfw.config import Config, ConfigDef, Key
from eosfw.config.definition.kinds import AllowedPaths, allowed_path
from eosfw.config.properties_file import parse_properties
from eosfw.protocols import ConfigData, LookupRefusedError

_LONGEST = 1024 * 1024
_JAVA_PACKAGE = "org.apache.kafka.common.config.provider."
_PATHS, _PATTERN = "allowed.paths", "allowlist.pattern"


@dataclass(frozen=True, slots=True)
class _Roots(AllowedPaths):
    def parse(self, text: str) -> tuple[str, ...]:
        if roots := AllowedPaths.parse(self, text):
            return roots
        raise ValueError("name the files or folders that may be read")


@dataclass(frozen=True, slots=True)
class _Pattern(Key):
    def parse(self, text: str) -> re.Pattern[str]:
        try:
            return re.compile(text)
        except re.error as why:
            raise ValueError(f"it is no regular expression: {why}") from None


class _ReadsFiles:
    config: ClassVar[ConfigDef] = ConfigDef(
        _Roots(_PATHS, doc="the files or folders, absolute and comma-separated, that may be read")
    )

    def configure(self, config: Config) -> None:
        self._roots: tuple[str, ...] = config[_PATHS]

    def close(self) -> None:
        """Nothing is open."""


class FileConfigProvider(_ReadsFiles):
    """Values of a properties file at an allowed path."""

    name: ClassVar[str] = "FileConfigProvider"
    aliases: ClassVar = (f"{_JAVA_PACKAGE}{name}",)

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        try:
            found = parse_properties(_text(path, self._roots))
        except LookupRefusedError:
            raise
        except ValueError as why:
            raise LookupRefusedError(f"its file is no properties file: {why}") from None
        for key in keys:
            if key not in found:
                raise LookupRefusedError(f"its file has no {key!r}")
        return ConfigData({key: found[key] for key in keys})


class DirectoryConfigProvider(_ReadsFiles):
    """Whole files of a folder at an allowed path, as Kubernetes mounts secrets."""

    name: ClassVar[str] = "DirectoryConfigProvider"
    aliases: ClassVar = (f"{_JAVA_PACKAGE}{name}",)

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        for key in keys:
            if not key or "/" in key or key in (".", ".."):
                raise LookupRefusedError("a key is the name of a file in the folder")
        return ConfigData({key: _text(f"{path}/{key}" if path else "", self._roots) for key in keys})


class EnvVarConfigProvider:
    """Environment variables of this process whose names match a pattern."""

    name: ClassVar[str] = "EnvVarConfigProvider"
    aliases: ClassVar = (f"{_JAVA_PACKAGE}{name}",)
    config: ClassVar[ConfigDef] = ConfigDef(
        _Pattern(_PATTERN, doc="a regular expression for the names of variables that may be read")
    )

    def configure(self, config: Config) -> None:
        self._pattern: re.Pattern[str] = config[_PATTERN]

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        if path:
            raise LookupRefusedError("environment variables have no path: write ${NAME:VARIABLE}")
        for key in keys:
            if not self._pattern.fullmatch(key):
                raise LookupRefusedError(f"its param.{_PATTERN} does not allow {key!r}")
            if key not in os.environ:
                raise LookupRefusedError(f"the environment has no {key!r}")
        return ConfigData({key: os.environ[key] for key in keys})

    def close(self) -> None:
        """Nothing is open."""


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
