"""Make an authority, certificates and a user that last as long as a broker, for tests.

A certificate names the hosts of the listeners and localhost. The files lie in a folder that nobody else reads.
"""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from eosfw.config.security import SecurityProtocol
from eosfw.errors import ConfigError, Problem
from eosfw_memory.server.security.endpoint import parse_endpoints
from eosfw_memory.server.security.listeners import (
    LISTENERS,
    THROWAWAY,
    THROWAWAY_USERS,
    Listener,
    prefix_of,
    protocol_of,
)
from eosfw_memory.server.security.sasl_mechanisms import JAAS, LOGIN_MODULES, USER
from eosfw_memory.server.security.users_file import USERS_FILE

_MECHANISM: Final = "SCRAM-SHA-512"
_MECHANISMS: Final = "sasl.enabled.mechanisms"
_NAME: Final = "eosfw"
_PLAIN_NAME: Final = re.compile(r"[\w.-]+", re.ASCII)
_LOCAL: Final = ("localhost", "127.0.0.1")
_EVERYWHERE: Final = ("", "0.0.0.0", "::")
_MAP: Final = "listener.security.protocol.map"
_AUTHORITY, _BROKER, _CLIENT = "ca.pem", "broker.pem", "client.pem"


@dataclass(frozen=True, slots=True)
class Throwaway:
    """The files of one broker, its properties, and those of its clients."""

    folder: Path
    broker: Mapping[str, str] = field(repr=False)
    users: Mapping[str, str] = field(repr=False)
    """Those of the broker's properties that name the user."""
    passwords: Mapping[str, str] = field(repr=False)
    """Those of the users, by their names."""

    @classmethod
    def make(cls, given: Mapping[str, str]) -> Throwaway:
        """What a broker with these properties lacks; raise ConfigError."""
        if find_spec("trustme") is None:
            say = "a throw-away authority needs the package trustme: pip install 'eosfw-memory[tls]'"
            raise ConfigError(Problem(THROWAWAY, say))
        if own := [name for name in given if ".keystore." in name or ".truststore." in name]:
            raise ConfigError(Problem(THROWAWAY, f"it makes keys and certificates: leave it out, or {own[0]}"))
        passwords, hosts = {name: secrets.token_urlsafe(24) for name in _names(given)}, _hosts(given)
        users = _users(given, passwords)
        folder = Path(tempfile.mkdtemp(prefix="eosfw-tls-"))  # which nobody else may read
        _issue(folder, hosts)
        files = {"ssl.keystore.location": str(folder / _BROKER), "ssl.truststore.location": str(folder / _AUTHORITY)}
        return cls(folder, {_MECHANISMS: _MECHANISM, **files, **users, **given}, users, passwords)

    def client(self, listener: Listener, user: str = _NAME) -> dict[str, str]:
        """What a client of a listener needs beside `bootstrap.servers`, by Kafka's names; KeyError for no user."""
        password = self.passwords[user]
        if listener.protocol is SecurityProtocol.PLAINTEXT:
            return {}
        found = {"security.protocol": listener.protocol.value}
        if listener.tls is not None:
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.folder / _AUTHORITY)}
            if listener.tls.client_auth != "none":
                found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.folder / _CLIENT)}
        for mechanism in listener.mechanisms:
            if _jaas_key(listener.name, mechanism) in self.users:
                line = f'{_module(mechanism)} required username="{user}" password="{password}";'
                return found | {"sasl.mechanism": mechanism, "sasl.jaas.config": line}
        return found

    def remove(self) -> None:
        """Remove the files."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _hosts(given: Mapping[str, str]) -> Sequence[str]:
    listeners = parse_endpoints("listeners", given.get("listeners", ""))
    advertised = parse_endpoints("advertised.listeners", given.get("advertised.listeners", ""))
    named = [each.host for each in (*advertised.values(), *listeners.values()) if each.host not in _EVERYWHERE]
    return tuple(dict.fromkeys((*named, *_LOCAL)))


def _issue(folder: Path, hosts: Sequence[str]) -> None:
    import trustme  # an extra, which few brokers need

    authority = trustme.CA(organization_name="throw-away authority of eosfw")
    authority.cert_pem.write_to_path(str(folder / _AUTHORITY))
    for name, identities in ((_BROKER, hosts), (_CLIENT, (f"{_NAME}@localhost",))):
        issued = authority.issue_cert(*identities, common_name=identities[0])
        issued.private_key_and_cert_chain_pem.write_to_path(str(folder / name))


def _names(given: Mapping[str, str]) -> Sequence[str]:
    """The users, of whose names no character has a meaning in a line of JAAS."""
    wanted = [name for name in map(str.strip, given.get(THROWAWAY_USERS, "").split(",")) if name]
    if wrong := [name for name in wanted if not _PLAIN_NAME.fullmatch(name)]:
        raise ConfigError(Problem(THROWAWAY_USERS, f"{wrong[0]!r} has more than letters, digits, '.', '_' and '-'"))
    return (_NAME, *wanted)


def _users(given: Mapping[str, str], passwords: Mapping[str, str]) -> dict[str, str]:
    """The users of each listener with SASL that names none itself."""
    found = {}
    protocols = given.get(_MAP, LISTENERS.keys[_MAP].default)
    for listener in parse_endpoints("listeners", given.get("listeners", "")):
        prefix = prefix_of(listener)
        if USERS_FILE in given or f"{prefix}{USERS_FILE}" in given:
            continue
        if protocol_of(listener, protocols).sasl and not any(_is_users(key, prefix) for key in given):
            enabled = given.get(f"{prefix}{_MECHANISMS}", given.get(_MECHANISMS, _MECHANISM))
            for mechanism in filter(LOGIN_MODULES.__contains__, map(str.strip, enabled.split(","))):
                named = " ".join(f'{USER}{name}="{password}"' for name, password in passwords.items())
                line = f"{_module(mechanism)} required {named};"
                found[_jaas_key(listener, mechanism)] = line
    return found


def _is_users(key: str, prefix: str) -> bool:
    return key.startswith(prefix) and key.endswith(JAAS)


def _jaas_key(listener: str, mechanism: str) -> str:
    return f"{prefix_of(listener)}{mechanism.lower()}{JAAS}"


def _module(mechanism: str) -> str:
    package = "plain" if mechanism == "PLAIN" else "scram"
    return f"org.apache.kafka.common.security.{package}.{LOGIN_MODULES[mechanism]}"
