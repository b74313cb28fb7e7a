"""Count connections, as a whole and by address, and say who may have another. Kafka's `ConnectionQuotas`.

A connection counts from the moment it is accepted: a handshake of TLS that never ends takes its place like any other.
Everything runs on the event loop's thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial


class ConnectionQuotas:
    """The connections of one broker."""

    def __init__(self, max_connections: int, max_connections_per_ip: int) -> None:
        self._most = max_connections
        self._most_per_ip = max_connections_per_ip
        self._open = 0
        self._by_address: Counter[str] = Counter()

    def admit(self, address: str) -> ConnectionSlot:
        """Count another connection of an address; raise ConnectionRefusedError if there are enough."""
        if self._open >= self._most:
            raise ConnectionRefusedError(f"there are max.connections={self._most} already")
        if self._by_address[address] >= self._most_per_ip:
            raise ConnectionRefusedError(f"its address has max.connections.per.ip={self._most_per_ip} already")
        self._open += 1
        self._by_address[address] += 1
        return ConnectionSlot(partial(self._leave, address))

    def _leave(self, address: str) -> None:
        self._open -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:  # addresses that are gone must not add up
            del self._by_address[address]


class ConnectionSlot:
    """The place of one connection."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self._leave = leave
        self._taken = True

    def release(self) -> None:
        """Leave the place to another connection; further calls do nothing."""
        if self._taken:
            self._taken = False
            self._leave()
