"""Tell, once each, which requests of Kafka's protocol clients asked for in vain."""

from __future__ import annotations

import logging
import struct
from typing import Final

from kio.schema.index import api_key_map

from eosfw_memory.protocol.codec import UnsupportedRequestError
from eosfw_memory.protocol.routes import ROUTES, api_name

_LOG = logging.getLogger(__name__)
_MOST: Final = 64
"""Warnings of one broker, and what it remembers of them: a hostile client can do no more than that."""
_SHOWN: Final = 100
_CLIENT = struct.Struct(">8xh")
"""The length of a client's name, behind what every version of a request begins with."""


class UnsupportedRequests:
    """What one broker was asked for in vain, so that nobody has to guess why a client gives up.

    Bytes that are no request of Kafka's, such as those of a port scanner, are not worth a warning.
    """

    def __init__(self) -> None:
        self._told: set[tuple[int, int, str]] = set()

    def tell(self, wrong: UnsupportedRequestError, peer: object) -> None:
        """Warn of a request, or of a version of one, unless this client was told of before."""
        name, client = _name(wrong.key), _client(wrong.start)
        if name is None or client is None or wrong.version < 0:
            return
        asked = (wrong.key, wrong.version, client)
        if asked in self._told or len(self._told) >= _MOST:
            return
        self._told.add(asked)
        _LOG.warning(
            "client %r at %s asked for version %d of %s, which the embedded broker does not serve%s: its connection is "
            "closed; docs/reference/omissions.md says what is left out",
            *(client, peer, wrong.version, name, _instead(wrong.key)),
        )
        if len(self._told) == _MOST:
            _LOG.warning("%d such requests were told; of further ones the log at level INFO tells", _MOST)


def _name(key: int) -> str | None:
    module = api_key_map.get(key)  # every request of Kafka's, also those that have no route
    return None if module is None else api_name(module)


def _client(start: bytes) -> str | None:
    """The client's name as far as it is shown, None for what is no name."""
    if len(start) < _CLIENT.size:
        return None
    (length,) = _CLIENT.unpack_from(start)
    said = start[_CLIENT.size : _CLIENT.size + max(length, 0)]
    try:
        return said.decode()[:_SHOWN] if len(said) == max(length, 0) else None
    except UnicodeDecodeError:
        return None


def _instead(key: int) -> str:
    route = ROUTES.get(key)
    return "" if route is None else f" (it serves {route.min_version} to {route.max_version})"
