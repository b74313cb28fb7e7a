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
        self._wait()

    def cancel(self) -> None:
        """Wait no more, since the connection is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end_if_over(self) -> None:
        """Go on, if the time has come."""
        if self._left_ms() <= 0:
            self.cancel()
            self._ended()

    def _left_ms(self) -> int:
        return self._until_ms - self._broker.now_ms()

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._left_ms() / 1000, self._on_timer)

    def _on_timer(self) -> None:
        if self._left_ms() > 0:
            self._wait()
        else:
            self.end_if_over()
