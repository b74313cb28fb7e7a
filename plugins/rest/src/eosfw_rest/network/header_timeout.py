"""Connections whose requests must arrive in time."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

_SECONDS: Final = 10.0
_TOO_SLOW: Final = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class TimedProtocol(H11Protocol):
    """Closes a connection on which the head of a request takes too long, one byte at a time or none at all."""

    seconds = _SECONDS

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waiting = self.loop.call_later(self.seconds, self._too_slow)

    def data_received(self, data: bytes) -> None:
        if self._waiting is None and self._is_idle():
            self._waiting = self.loop.call_later(self.seconds, self._too_slow)
        super().data_received(data)
        if not self._is_idle():
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_idle(self) -> bool:
        # Before its first request a connection has no cycle.
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _too_slow(self) -> None:
        self._waiting = None
        if not self.transport.is_closing():
            self.transport.write(_TOO_SLOW)
            self.transport.close()
