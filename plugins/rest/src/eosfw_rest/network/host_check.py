"""The host that a request names, checked where nobody signs in.

A worker without sign-in listens to loopback alone. A page of another site reaches it all the same when the name of
that site is made to resolve to 127.0.0.1 (DNS rebinding): to the browser both are of one origin then, and only the name
tells them apart.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Final

from eosfw_rest.messages import Answer, error_message

_LOCAL: Final = "localhost"


class HostCheck:
    """Lets requests to `localhost`, to IP addresses and to the advertised name pass."""

    def __init__(self, advertised: str | None) -> None:
        self._names = {_LOCAL} | ({advertised.lower()} if advertised else set())

    def refusal(self, headers: Sequence[tuple[bytes, bytes]]) -> Answer | None:
        """The answer to a request to any other name; a client that names no host is no browser."""
        for name, value in headers:
            if name == b"host" and not self._is_own(_host(value.decode("latin-1"))):
                shown = value.decode("latin-1")[:100]
                return error_message(
                    403,
                    f"{shown!r} is no name of this worker: without rest.authentication.file it answers to localhost, "
                    "IP addresses and rest.advertised.host.name alone",
                    {"Connection": "close"},
                )
        return None

    def _is_own(self, host: str) -> bool:
        if host in self._names or host.endswith(f".{_LOCAL}"):
            return True
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return True


def _host(text: str) -> str:
    """The host of `HOST`, `HOST:PORT` or `[IPV6]:PORT`."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0].lower() if text.count(":") == 1 else text.lower()
