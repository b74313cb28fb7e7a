"""The options of a login module in a line of JAAS. Kafka's `JaasContext`."""

from __future__ import annotations

from collections.abc import Mapping

from eosfw.config.jaas import JaasError, parse_jaas
from eosfw.errors import ConfigError, Problem


def login_options(key: str, mechanism: str, module: str, line: str) -> Mapping[str, str]:
    """The options of the line in a property; raise ConfigError, without a part of the line."""
    try:
        entry = parse_jaas(line)
    except JaasError as why:
        raise ConfigError(Problem(key, str(why))) from None  # the cause would have the line
    if entry.login_module.rpartition(".")[2] != module:
        raise ConfigError(Problem(key, f"the login module of {mechanism} is {module}"))
    return entry.options
