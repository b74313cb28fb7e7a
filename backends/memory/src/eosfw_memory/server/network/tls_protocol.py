"""TLS of asyncio with one buffer for the reads of all connections.

asyncio gives each connection a buffer of 256 KiB from its beginning, which those that are idle hold, too: five thousand
of them would take 1.4 GB.
"""

from __future__ import annotations

from asyncio.sslproto import SSLProtocol
from typing import Any, Final

_READ_BYTES: Final = SSLProtocol.max_size
_FIRST_BYTES: Final = 4096
"""Enough for what a client sends in its handshake."""


def read_buffer() -> memoryview:
    """A buffer for connections of one event loop."""
    return memoryview(bytearray(_READ_BYTES))


class SharedBufferProtocol(SSLProtocol):
    """Takes bytes from the shared buffer at once, so that the next connection can use it; its own grows with them."""

    max_size = _FIRST_BYTES

    def __init__(self, shared: memoryview, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.max_size = len(shared)  # type: ignore[misc]  # how far its own buffer may grow
        self._shared = shared

    def get_buffer(self, n: int) -> memoryview:
        return self._shared

    def buffer_updated(self, nbytes: int) -> None:
        super().get_buffer(nbytes)[:nbytes] = self._shared[:nbytes]
        super().buffer_updated(nbytes)
