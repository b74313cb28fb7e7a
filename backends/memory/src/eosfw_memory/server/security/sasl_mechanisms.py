"""The SASL mechanisms of a listener, with its users, from its properties. Kafka's `SaslChannelBuilder`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Final, TypeAlias

from eosfw.config.jaas import JaasError, parse_jaas
from eosfw.errors import ConfigError, Problem
from eosfw_memory.server.security.plain_server import PlainServer
from eosfw_memory.server.security.sasl_server import SaslServer

Mechanisms: TypeAlias = Mapping[str, Callable[[], SaslServer]]
"""The mechanisms of a listener, each with what begins an exchange."""

JAAS: Final = ".sasl.jaas.config"
"""How the property with the users of a mechanism ends, behind its name in small letters."""
USER: Final = "user_"
"""What stands before the name of a user in such a property."""
LOGIN_MODULES: Final = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
}
"""The mechanisms that are served, each with Kafka's login module."""


def parse_mechanisms(prefix: str, enabled: tuple[str, ...], jaas: Mapping[str, str]) -> Mechanisms:
    """The mechanisms that are enabled; raise ConfigError. The prefix is that of the listener's own properties."""
    known = ", ".join(LOGIN_MODULES)
    if not enabled:
        say = f"a listener with SASL needs some of {known} (here or in {prefix}sasl.enabled.mechanisms)"
        raise ConfigError(Problem("sasl.enabled.mechanisms", say))
    if wrong := [name for name in enabled if name not in LOGIN_MODULES]:
        raise ConfigError(Problem("sasl.enabled.mechanisms", f"{wrong[0]!r} is not served; there are {known}"))
    if unused := jaas.keys() - {f"{name.lower()}{JAAS}" for name in enabled}:
        names = ", ".join(f"{prefix}{key}" for key in sorted(unused))
        raise ConfigError(Problem(names, "its mechanism is not in sasl.enabled.mechanisms"))
    return {name: _exchange(prefix, name, jaas.get(f"{name.lower()}{JAAS}")) for name in enabled}


def _exchange(prefix: str, mechanism: str, line: str | None) -> Callable[[], SaslServer]:
    passwords = _passwords(f"{prefix}{mechanism.lower()}{JAAS}", mechanism, line)
    if mechanism == "PLAIN":
        return lambda: PlainServer(passwords)
    if find_spec("scramp") is None:
        say = f"{mechanism} needs the package scramp: pip install 'eosfw-memory[sasl]'"
        raise ConfigError(Problem("sasl.enabled.mechanisms", say))
    from eosfw_memory.server.security.scram_server import ScramCredentials, ScramServer

    credentials = ScramCredentials(mechanism, passwords)
    return lambda: ScramServer(credentials)


def _passwords(key: str, mechanism: str, line: str | None) -> Mapping[str, str]:
    module = LOGIN_MODULES[mechanism]
    if line is None:
        say = f'name the users: {module} required user_NAME="PASSWORD";'
        raise ConfigError(Problem(key, f"it is missing; {say}"))
    try:
        entry = parse_jaas(line)
    except JaasError as why:
        raise ConfigError(Problem(key, str(why))) from None  # the cause would have the line
    if entry.login_module.rpartition(".")[2] != module:
        raise ConfigError(Problem(key, f"the login module of {mechanism} is {module}"))
    found = {name.removeprefix(USER): text for name, text in entry.options.items() if name.startswith(USER)}
    if empty := [name for name, text in found.items() if not name or not text]:
        raise ConfigError(Problem(key, f"user {empty[0]!r} needs a name and a password"))
    return found
