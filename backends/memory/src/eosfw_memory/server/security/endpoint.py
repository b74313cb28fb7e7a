"""The addresses in `listeners` and `advertised.listeners`, each with the name of its listener."""

from __future__ import annotations

from collections.abc import Iterator

from eosfw.errors import ConfigError, Problem
from eosfw.security import Address

_UNNAMED = "PLAINTEXT"


def parse_endpoints(key: str, text: str) -> dict[str, Address]:
    """Read `NAME://HOST:PORT,...`; a name that is left out is PLAINTEXT."""
    found: dict[str, Address] = {}
    for name, endpoint in _each_endpoint(key, text):
        if name in found:
            raise ConfigError(Problem(key, f"the listener {name} stands there twice"))
        found[name] = endpoint
    return found


def _each_endpoint(key: str, text: str) -> Iterator[tuple[str, Address]]:
    for part in filter(None, map(str.strip, text.split(","))):
        scheme, _, rest = part.rpartition("://")
        host, colon, port = rest.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise ConfigError(Problem(key, f"{part!r} is not HOST:PORT with a port from 0 to 65535"))
        yield scheme.upper() or _UNNAMED, Address(host.strip("[]"), int(port))
