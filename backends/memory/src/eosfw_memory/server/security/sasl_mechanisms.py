"""The SASL mechanisms of a listener, with its users, from its properties. Kafka's `SaslChannelBuilder`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Final, TypeAlias

from eosfw.config.jaas import JaasError, parse_jaas
from eosfw.errors import ConfigError, Problem
from eosfw_memory.server.security.access_tokens import TokenValidator, UnsecuredTokenValidator
from eosfw_memory.server.security.oauthbearer_server import OAuthBearerServer
from eosfw_memory.server.security.plain_server import PlainServer
from eosfw_memory.server.security.sasl_server import SaslServer
from eosfw_memory.server.security.scram_credential import ScramLookup, ScramMechanism
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
OAUTHBEARER: Final = "OAUTHBEARER"
MECHANISMS: Final = (*LOGIN_MODULES, OAUTHBEARER)
"""The mechanisms that are served."""
_OAUTHBEARER_MODULE: Final = "OAuthBearerLoginModule"
_PRINCIPAL_CLAIM: Final = "unsecuredValidatorPrincipalClaimName"
_CLOCK_SKEW: Final = "unsecuredValidatorAllowableClockSkewMs"


def parse_mechanisms(
    prefix: str, enabled: tuple[str, ...], jaas: Mapping[str, str], users: UsersFile | None = None
) -> Mechanisms:
    """The mechanisms that are enabled; raise ConfigError. The prefix is that of the listener's own properties.

    `users` are those of the mechanisms with passwords, in place of lines of JAAS.
    """
    known = ", ".join(MECHANISMS)
    if not enabled:
        say = f"a listener with SASL needs some of {known} (here or in {prefix}sasl.enabled.mechanisms)"
        raise ConfigError(Problem("sasl.enabled.mechanisms", say))
    if wrong := [name for name in enabled if name not in MECHANISMS]:
        raise ConfigError(Problem("sasl.enabled.mechanisms", f"{wrong[0]!r} is not served; there are {known}"))
    if unused := jaas.keys() - {f"{name.lower()}{JAAS}" for name in enabled}:
        names = ", ".join(f"{prefix}{key}" for key in sorted(unused))
        raise ConfigError(Problem(names, "its mechanism is not in sasl.enabled.mechanisms"))
    return {name: _exchange(prefix, name, jaas.get(f"{name.lower()}{JAAS}"), users) for name in enabled}


def exchanges(mechanisms: Mechanisms, stored: ScramLookup) -> Exchanges:
    """The mechanisms, with the credentials that the cluster has."""
    return {name: partial(begin, stored) for name, begin in mechanisms.items()}


def _exchange(
    prefix: str, mechanism: str, line: str | None, users: UsersFile | None
) -> Callable[[ScramLookup], SaslServer]:
    key = f"{prefix}{mechanism.lower()}{JAAS}"
    if mechanism == OAUTHBEARER:
        validator = _token_validator(key, line)
        return lambda _: OAuthBearerServer(validator)
    passwords = _passwords(key, mechanism, line, users)
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


def _token_validator(key: str, line: str | None) -> TokenValidator:
    if line is None:
        say = f"to accept tokens that nobody has signed, for tests: {_OAUTHBEARER_MODULE} required;"
        raise ConfigError(Problem(key, f"it is missing; {say}"))
    options = _options(key, OAUTHBEARER, _OAUTHBEARER_MODULE, line)
    if unknown := options.keys() - {_PRINCIPAL_CLAIM, _CLOCK_SKEW}:
        say = f"there are {_PRINCIPAL_CLAIM} and {_CLOCK_SKEW}"
        raise ConfigError(Problem(key, f"the option {min(unknown)} is not served; {say}"))
    skew = options.get(_CLOCK_SKEW, "0")
    if not skew.isdecimal():
        raise ConfigError(Problem(key, f"{_CLOCK_SKEW} is a number of milliseconds"))
    return UnsecuredTokenValidator(options.get(_PRINCIPAL_CLAIM, "sub"), int(skew) / 1000)


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
    options = _options(key, mechanism, module, line)
    found = {name.removeprefix(USER): text for name, text in options.items() if name.startswith(USER)}
    if empty := [name for name, text in found.items() if not name or not text]:
        raise ConfigError(Problem(key, f"user {empty[0]!r} needs a name and a password"))
    return lambda: found


def _options(key: str, mechanism: str, module: str, line: str) -> Mapping[str, str]:
    try:
        entry = parse_jaas(line)
    except JaasError as why:
        raise ConfigError(Problem(key, str(why))) from None  # the cause would have the line
    if entry.login_module.rpartition(".")[2] != module:
        raise ConfigError(Problem(key, f"the login module of {mechanism} is {module}"))
    return entry.options
