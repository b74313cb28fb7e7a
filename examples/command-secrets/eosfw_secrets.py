"""A config provider that asks a program for each value: `vault kv get`, `pass`, `op read`, a script of your own.

    "config.providers" = "secrets"
    "config.providers.secrets.class" = "command"
    "config.providers.secrets.param.command" = "/usr/local/bin/read-secret"
    password = "${secrets:team/db:password}"

The program is called with path and key as its last arguments and prints the value. Nobody can have another program
called: properties of connectors choose path and key alone, and neither may look like an option.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Collection

from eosfw import Config, ConfigDef, Int, String, hookimpl
from eosfw.protocols import ConfigData, LookupRefusedError


class CommandConfigProvider:
    """Values that a program prints."""

    name = "command"
    config = ConfigDef(
        String("command", doc="the program, with arguments before path and key"),
        Int("timeout.ms", 10_000, "how long it may take for one value", at_least=1),
        Int("ttl.ms", None, "for how long a value holds good, if the program gives leases", at_least=1),
    )

    def configure(self, config: Config) -> None:
        self._command = shlex.split(config["command"])
        self._timeout = config["timeout.ms"] / 1000
        self._ttl = None if config["ttl.ms"] is None else config["ttl.ms"] / 1000

    def get(self, path: str, keys: Collection[str]) -> ConfigData:
        return ConfigData({key: self._value(path, key) for key in keys}, self._ttl)

    def close(self) -> None:
        pass

    def _value(self, path: str, key: str) -> str:
        if path.startswith("-") or key.startswith("-"):
            raise LookupRefusedError("neither path nor key may begin with a dash")
        try:
            done = subprocess.run(
                [*self._command, path, key], capture_output=True, text=True, timeout=self._timeout, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as why:
            raise LookupRefusedError(f"its program cannot be asked: {type(why).__name__}") from None
        if done.returncode != 0:  # what it printed is not shown: nobody knows whether a value is in it
            raise LookupRefusedError(f"its program ended with exit code {done.returncode} for {key!r}")
        return done.stdout.rstrip("\n")


@hookimpl
def eosfw_config_providers() -> list[type[CommandConfigProvider]]:
    return [CommandConfigProvider]
