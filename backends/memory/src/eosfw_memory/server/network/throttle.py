"""Let a client wait that used more than its quota. Kafka's `ThrottledChannel`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from eosfw_memory.server.broker.broker import Broker


class Throttle:
    """The wait of one connection, by the broker's clock, which may jump; on the event loop's thread."""

    def __init__(self, broker: Broker, throttle_ms: int, ended: Callable[[], None]) -> None:
        self._broker = broker
        self._until_ms = broker.now_ms() + throttle_ms
        self._ended = ended
        self._timer: asyncio.TimerHandle | None = None
        self._wait(throttle_ms)

    def cancel(self) -> None:
        """Wait no more, since the connection is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end_if_over(self) -> None:
        """Go on, if the time has come."""
        left_ms = self._until_ms - self._broker.now_ms()
        if left_ms <= 0:
            self.cancel()
            self._ended()

    def _wait(self, left_ms: int) -> None:
        self._timer = asyncio.get_running_loop().call_later(left_ms / 1000, self._on_timer)

    def _on_timer(self) -> None:
        left_ms = self._until_ms - self._broker.now_ms()
        if left_ms > 0:
            self._wait(left_ms)
        else:
            self.end_if_over()
