"""Close the socket of a failed connection, which kafka-python leaves to the garbage collector."""

from __future__ import annotations

import socket
from typing import Any, ClassVar, Final

from kafka.net.inet import KafkaNetSocket

DIRECT: Final = "eosfw://direct"
"""The library chooses a socket class by the scheme of the proxy's URL; with this scheme there is no proxy."""


class ClosingSocket(KafkaNetSocket):  # type: ignore[misc]
    """Connects as the library's socket does. The library registers every subclass by its schemes."""

    SCHEMES: ClassVar[tuple[str, ...]] = ("eosfw",)

    async def sock_connect(self, net: Any, sock: socket.socket, sockaddr: Any, timeout_at: float | None = None) -> Any:
        """Connect; close the socket if that fails."""
        try:
            return await super().sock_connect(net, sock, sockaddr, timeout_at=timeout_at)
        except BaseException:
            sock.close()
            raise
