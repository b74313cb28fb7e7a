"""Serve clients on sockets with an event loop in a thread of its own; Kafka's `SocketServer`.

The loop runs the handlers of all clients that come over the network, and the broker's background tasks. Clients in the
same process call the broker from their own threads, which its lock permits.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from eosfw.concurrency import Runtime
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.network.acceptor import Acceptor, Tls
from eosfw_memory.server.network.connection import Connection, Connections
from eosfw_memory.server.network.connection_quotas import ConnectionQuotas, ConnectionSlot
from eosfw_memory.server.security.listeners import Listener

_LOG = logging.getLogger(__name__)
_STOP_SECONDS = 10.0
_IDLE_CHECKS = 4
"""How often idle connections are searched within the time that they may be idle."""


@dataclass(frozen=True, slots=True)
class OpenListener:
    """A listener with its socket, which already listens."""

    listener: Listener
    socket: socket.socket
    context: ssl.SSLContext | None
    """With TLS."""


class SocketServer:
    """Serves a broker on its listeners."""

    def __init__(self, broker: Broker, listeners: Sequence[OpenListener], runtime: Runtime) -> None:
        self._broker = broker
        self._listeners = listeners
        self._shared = Connections()
        self._connections = self._shared.open
        settings = broker.settings
        self._quotas = ConnectionQuotas(settings.max_connections, settings.max_connections_per_ip)
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        broker.on_restart(self._drop)
        broker.on_jump(self._end_throttles)
        self._thread = runtime.spawn("eosfw-broker", self._run)

    def close(self) -> None:
        """Drop every connection, free the port, end the thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop.set)
        if not self._thread.join(_STOP_SECONDS):
            _LOG.warning("the embedded broker's thread did not end within %s s", _STOP_SECONDS)

    def _drop(self) -> None:
        """Drop every connection; any thread may ask."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._abort_all)

    def _end_throttles(self) -> None:
        """Go on with the clients that have waited for long enough; any thread may ask."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end_throttles_that_are_over)

    def _end_throttles_that_are_over(self) -> None:
        for connection in tuple(self._connections):
            connection.end_throttle_if_over()

    def _abort_all(self) -> None:
        for connection in tuple(self._connections):
            connection.abort()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except Exception:  # noqa: BLE001 the end of the thread, where nobody else would hear of it
            _LOG.exception("the embedded broker stopped")
        finally:
            for each in self._listeners:
                each.socket.close()
            self._loop.close()

    async def _serve(self) -> None:
        acceptors = list(map(self._acceptor, self._listeners))
        regular = [self._loop.create_task(each()) for each in (self._sweep_regularly, self._close_idle_regularly)]
        await self._stop.wait()
        for task in regular:
            task.cancel()
        for each in acceptors:
            await each.close()
        # Behind this, `_connections` has every connection that was accepted.
        await asyncio.gather(*regular, return_exceptions=True)
        self._abort_all()
        # Aborted transports close their sockets in the next iteration of the loop.
        await asyncio.sleep(0)

    def _acceptor(self, opened: OpenListener) -> Acceptor:
        def connection(slot: ConnectionSlot) -> Connection:
            return Connection(self._broker, self._shared, opened.listener, slot)

        timeout = self._broker.settings.authentication.timeout
        tls = None if opened.context is None else Tls(opened.context, timeout)
        return Acceptor(opened.socket, connection, self._quotas, tls)

    async def _sweep_regularly(self) -> None:
        while True:
            await asyncio.sleep(self._broker.idle_seconds())
            self._broker.run_due_tasks()

    async def _close_idle_regularly(self) -> None:
        longest = self._broker.settings.max_idle_ms / 1000
        while True:
            await asyncio.sleep(longest / _IDLE_CHECKS)
            for connection in tuple(self._connections):
                connection.close_if_idle(self._loop.time() - longest)
