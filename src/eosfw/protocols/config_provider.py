"""The contract of a config provider: where values of properties come from that no configuration holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable


class LookupRefusedError(ValueError):
    """A provider has no such value, or may not read it; the text is shown to users, so it shows no value."""


@dataclass(frozen=True, slots=True)
class ConfigData:
    """Values by their keys (Kafka's `ConfigData`)."""

    values: Mapping[str, str] = field(repr=False)
    ttl: float | None = None
    """How many seconds they hold good; then what was started with them is restarted. None: until that is asked for."""


@runtime_checkable
class ConfigProvider(Protocol):
    """Looks up the values that `${NAME:PATH:KEY}` in properties stands for (Kafka's `ConfigProvider`).

    It is made without arguments. One with `config` and `configure` (`Configurable`) is given the worker's
    `config.providers.NAME.param.*` before any other call. Whatever reads a value asks for it: a worker when a task
    starts, a process of a task on another machine, `eosfw run --check`. Several threads may ask at once.
    """

    name: ClassVar[str]
    """What `config.providers.NAME.class` says."""

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        """The values of these keys, and of no others, at a path, which is empty if the reference has none.

        LookupRefusedError, which says why but no value, if one of them is not there or may not be read.
        """

    def close(self) -> None:
        """Let go of what `get` needs; it may come twice."""
