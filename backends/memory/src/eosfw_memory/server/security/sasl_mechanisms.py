"""The SASL mechanisms of a listener, with its users, from its properties. Kafka's `SaslChannelBuilder`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

from eosfw.errors import ConfigError, Problem
from eosfw_memory.server.security.access_tokens import TokenValidator
from eosfw_memory.server.security.login_module import login_options
from eosfw_memory.server.security.oauthbearer_server import OAuthBearerServer
from eosfw_memory.server.security.plain_server import PlainServer
from eosfw_memory.server.security.sasl_server import SaslServer
from eosfw_memory.server.security.scram_credential import ScramLookup, ScramMechanism
from eosfw_memory.server.security.token_validation import OAUTHBEARER, parse_token_validator
from eosfw_memory.server.security.users_file import USERS_FILE, UsersFile

Mechanisms: TypeAlias = Mapping[str, Callable[[ScramLookup], SaslServer]]
"""The mechanisms of a listener, each with what begins an exchange where the cluster has these credentials."""
Exchanges: TypeAlias = Mapping[str, Callable[[], SaslServer]]
"""The mechanisms of one connection, each with what begins an exchange."""

JAAS: Final = ".sasl.jaas.config"
"""How the property with the users of a mechanism ends, behind its name in small letters."""
USER: Final = "user_"
"""What stands before the name of a user in such a property."""
LOGIN_MODULES: Final = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
}
"""The mechanisms with passwords, each with Kafka's login module."""
MECHANISMS: Final = (*LOGIN_MODULES, OAUTHBEARER)
"""The mechanisms that are served."""


def parse_mechanisms(prefix: str, config: Mapping[str, Any], jaas: Mapping[str, str]) -> Mechanisms:
    """The mechanisms that are enabled; raise ConfigError. The prefix is that of the listener's own properties."""
    enabled = config["sasl.enabled.mechanisms"]
    known = ", ".join(MECHANISMS)
    if not enabled:
        say = f"a listener with SASL needs some of {known} (here or in {prefix}sasl.enabled.mechanisms)"
        raise ConfigError(Problem("sasl.enabled.mechanisms", say))
    if wrong := [name for name in enabled if name not in MECHANISMS]:
        raise ConfigError(Problem("sasl.enabled.mechanisms", f"{wrong[0]!r} is not served; there are {known}"))
    if unused := jaas.keys() - {f"{name.lower()}{JAAS}" for name in enabled}:
        names = ", ".join(f"{prefix}{key}" for key in sorted(unused))
        raise ConfigError(Problem(names, "its mechanism is not in sasl.enabled.mechanisms"))
    path = config[USERS_FILE]
    users = None if path is None else UsersFile(Path(path).absolute())
    found: dict[str, Callable[[ScramLookup], SaslServer]] = {}
    for name in enabled:
        key = f"{name.lower()}{JAAS}"
        if name == OAUTHBEARER:
            found[name] = _with_tokens(parse_token_validator(f"{prefix}{key}", jaas.get(key), config))
        else:
            found[name] = _with_passwords(name, _passwords(f"{prefix}{key}", name, jaas.get(key), users))
    return found


def exchanges(mechanisms: Mechanisms, stored: ScramLookup) -> Exchanges:
    """The mechanisms, with the credentials that the cluster has."""
    return {name: partial(begin, stored) for name, begin in mechanisms.items()}


def _with_tokens(validator: TokenValidator) -> Callable[[ScramLookup], SaslServer]:
    return lambda _: OAuthBearerServer(validator)


def _with_passwords(mechanism: str, passwords: Callable[[], Mapping[str, str]]) -> Callable[[ScramLookup], SaslServer]:
    if mechanism == "PLAIN":
        return lambda _: PlainServer(passwords())
    if find_spec("scramp") is None:
        say = f"{mechanism} needs the package scramp: pip install 'eosfw-memory[sasl]'"
        raise ConfigError(Problem("sasl.enabled.mechanisms", say))
    from eosfw_memory.server.security.scram_server import ScramCredentials, ScramServer

    credentials = ScramCredentials(ScramMechanism.from_mechanism_name(mechanism), passwords())

    def begin(stored: ScramLookup) -> SaslServer:
        credentials.update(passwords())
        return ScramServer(credentials, stored)

    return begin


def _passwords(key: str, mechanism: str, line: str | None, users: UsersFile | None) -> Callable[[], Mapping[str, str]]:
    """What gives the users with their passwords whenever somebody authenticates himself."""
    if users is not None:
        if line is not None:
            raise ConfigError(Problem(key, f"{USERS_FILE} names the users: leave one of them out"))
        return users.passwords
    module = LOGIN_MODULES[mechanism]
    if line is None:
        say = f'name the users: {module} required user_NAME="PASSWORD"; or in a file, by {USERS_FILE}'
        raise ConfigError(Problem(key, f"it is missing; {say}"))
    options = login_options(key, mechanism, module, line)
    found = {name.removeprefix(USER): text for name, text in options.items() if name.startswith(USER)}
    if empty := [name for name, text in found.items() if not name or not text]:
        raise ConfigError(Problem(key, f"user {empty[0]!r} needs a name and a password"))
    return lambda: found
