"""Warn of requests that the broker does not serve, once for each client and version."""

from __future__ import annotations

import logging
import struct
from typing import Final

from kio.schema.index import api_key_map

from eosfw_memory.server.protocol.codec import UnsupportedRequestError
from eosfw_memory.server.protocol.routes import ROUTES, api_name

_LOG = logging.getLogger(__name__)
_MAX_WARNINGS: Final = 64
"""Of one broker: a hostile client can fill neither the log nor the memory."""
_MAX_NAME: Final = 100
"""Characters of a client's name that are shown."""
_CLIENT = struct.Struct(">8xh")
"""The length of the client's name, behind the eight bytes with which every request begins."""


class UnsupportedRequests:
    """The unsupported requests of one broker's clients: a user must not have to guess why a client gives up.

    Bytes that are no request of Kafka's, such as those of a port scanner, cause no warning.
    """

    def __init__(self) -> None:
        self._warned: set[tuple[int, int, str]] = set()

    def warn(self, wrong: UnsupportedRequestError, peer: object) -> None:
        """Warn of a request or of its version, unless there was a warning of it for this client."""
        module = api_key_map.get(wrong.key)  # every request of Kafka's, also those that have no route
        client = _client(wrong.start)
        if module is None or client is None or wrong.version < 0:
            return
        asked = (wrong.key, wrong.version, client)
        if asked in self._warned or len(self._warned) >= _MAX_WARNINGS:
            return
        self._warned.add(asked)
        route = ROUTES.get(wrong.key)
        instead = "" if route is None else f" (it serves {route.min_version} to {route.max_version})"
        _LOG.warning(
            "client %r at %s asked for version %d of %s, which the embedded broker does not serve%s: its connection is "
            "closed; docs/reference/omissions.md says what is left out",
            *(client, peer, wrong.version, api_name(module), instead),
        )
        if len(self._warned) == _MAX_WARNINGS:
            _LOG.warning("%d such requests were told; of further ones the log at level INFO tells", _MAX_WARNINGS)


def _client(start: bytes) -> str | None:
    """The beginning of the client's name; None if the bytes hold none."""
    if len(start) < _CLIENT.size:
        return None
    (length,) = _CLIENT.unpack_from(start)
    name = start[_CLIENT.size : _CLIENT.size + max(length, 0)]
    try:
        return name.decode()[:_MAX_NAME] if len(name) == max(length, 0) else None
    except UnicodeDecodeError:
        return None
