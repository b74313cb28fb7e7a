"""The addresses of brokers in `bootstrap.servers`."""

from __future__ import annotations

import re
from typing import NamedTuple

_ADDRESS = re.compile(r"(?:\w+://)?(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<host>[^\s:/\[\]]+)):(?P<port>\d{1,5})")


class Address(NamedTuple):
    """A host with a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_addresses(servers: str) -> list[Address]:
    """Every address; none if one of them is not written HOST:PORT, which the client reports."""
    found = [parse_address(text.strip()) for text in servers.split(",") if text.strip()]
    return [] if None in found else list(dict.fromkeys(one for one in found if one))


def parse_address(text: str) -> Address | None:
    """One address; None if it is not written HOST:PORT."""
    found = _ADDRESS.fullmatch(text)
    return Address(found["six"] or found["host"], int(found["port"])) if found else None
