"""A host with a port, as clients and listeners name it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass

from eosfw.errors import ConfigError, Problem

_UNNAMED = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host with a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether no other machine reaches it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def parse_endpoints(key: str, text: str) -> dict[str, Endpoint]:
    """Read `NAME://HOST:PORT,...`; a name that is left out is PLAINTEXT."""
    found: dict[str, Endpoint] = {}
    for name, endpoint in _each_endpoint(key, text):
        if name in found:
            raise ConfigError(Problem(key, f"the listener {name} stands there twice"))
        found[name] = endpoint
    return found


def _each_endpoint(key: str, text: str) -> Iterator[tuple[str, Endpoint]]:
    for part in filter(None, map(str.strip, text.split(","))):
        scheme, _, rest = part.rpartition("://")
        host, colon, port = rest.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise ConfigError(Problem(key, f"{part!r} is not HOST:PORT with a port from 0 to 65535"))
        yield scheme.upper() or _UNNAMED, Endpoint(host.strip("[]"), int(port))
