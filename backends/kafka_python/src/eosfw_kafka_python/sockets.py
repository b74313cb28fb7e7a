"""Close the sockets of connections that failed, which kafka-python leaves to the garbage collector."""

from __future__ import annotations

import socket
from typing import Any, ClassVar, Final

from kafka.net.inet import KafkaNetSocket

DIRECT: Final = "eosfw://direct"
"""The library picks a kind of socket by its proxy's scheme; this one stands for none."""


class ClosingSocket(KafkaNetSocket):  # type: ignore[misc]
    """Connects as the library does, which registers every subclass by its schemes: nobody else names this one."""

    SCHEMES: ClassVar[tuple[str, ...]] = ("eosfw",)

    async def sock_connect(self, net: Any, sock: socket.socket, sockaddr: Any, timeout_at: float | None = None) -> Any:
        """Connect, or close what could not be connected."""
        try:
            return await super().sock_connect(net, sock, sockaddr, timeout_at=timeout_at)
        except BaseException:
            sock.close()
            raise
