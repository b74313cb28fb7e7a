"""Accept connections on a listening socket; Kafka's `Acceptor`.

asyncio's own server is not used because of what it does when no file descriptor is free: it logs an error and tries
again for each connection that might wait, a thousand times a second.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

from eosfw_memory.server.network.connection_quotas import ConnectionQuotas, ConnectionSlot
from eosfw_memory.server.network.tls_protocol import SharedBufferProtocol, read_buffer
from eosfw_memory.server.security.tls_alert import ACCEPTED

try:
    import resource
except ImportError:  # not every system has limits
    resource = None  # type: ignore[assignment]

_LOG = logging.getLogger(__name__)
_MAX_PER_TURN: Final = 128
"""Connections that are accepted before the event loop serves other sockets."""
_SPARE_DESCRIPTORS: Final = 32
"""Descriptors that connections leave to the rest of the process, for instance to the files of a data directory."""
_PAUSE_SECONDS: Final = 0.1
_WARNING_INTERVAL_SECONDS: Final = 60.0
_SHUTDOWN_SECONDS: Final = 1.0
"""How long the end of TLS waits for the client's own; asyncio's 30 s would keep connections that were turned away."""


@dataclass(frozen=True, slots=True)
class Tls:
    """How connections become TLS; times in seconds."""

    context: ssl.SSLContext
    handshake_timeout: float
    read_buffer: memoryview = field(default_factory=read_buffer)
    """For the reads of all connections, which one event loop serves."""


MakeProtocol: TypeAlias = Callable[[ConnectionSlot], asyncio.BaseProtocol]
"""The protocol releases the place of its connection once that is lost."""


class Acceptor:
    """Makes a protocol for each accepted socket, on the running event loop; with TLS, after its handshake."""

    def __init__(
        self, listening: socket.socket, protocol: MakeProtocol, quotas: ConnectionQuotas, tls: Tls | None = None
    ) -> None:
        self._listening = listening
        self._protocol = protocol
        self._quotas = quotas
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._connecting: set[asyncio.Task[None]] = set()
        self._resume_timer: asyncio.TimerHandle | None = None
        self._next_warning_at = -math.inf
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept)

    async def close(self) -> None:
        """Accept no more connections; on return each accepted one has called its protocol's `connection_made`."""
        self._loop.remove_reader(self._listening)
        if self._resume_timer is not None:
            self._resume_timer.cancel()
        if self._tls is not None:  # a handshake waits for the client
            for task in self._connecting:
                task.cancel()
        await asyncio.gather(*self._connecting, return_exceptions=True)

    def _accept(self) -> None:
        for _ in range(_MAX_PER_TURN):
            try:
                _check_descriptors(self._listening)
                accepted, peer = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as why:
                self._suspend(why)
                return
            try:
                slot = self._quotas.admit(peer[0])
            except ConnectionRefusedError as why:
                _LOG.info("connection of %s closed: %s", peer, why)
                accepted.close()
                continue
            accepted.setblocking(False)
            task = self._loop.create_task(self._connect(accepted, peer, slot))
            self._connecting.add(task)
            task.add_done_callback(partial(self._connected, accepted, slot))

    def _connected(self, accepted: socket.socket, slot: ConnectionSlot, task: asyncio.Task[None]) -> None:
        self._connecting.discard(task)
        if task.cancelled():
            accepted.close()  # neither a task that was not begun nor a handshake that was not begun closes it
            slot.release()

    async def _connect(self, accepted: socket.socket, peer: object, slot: ConnectionSlot) -> None:
        try:
            await self._make_transport(accepted, partial(self._protocol, slot))
        except OSError as why:  # of which errors and timeouts of TLS are kinds
            slot.release()
            what = "" if self._tls is None else "no TLS: "
            _LOG.info("connection of %s closed: %s%s", peer, what, getattr(why, "reason", None) or why)
        except BaseException:
            slot.release()
            raise

    async def _make_transport(self, accepted: socket.socket, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        if self._tls is None:
            await self._loop.connect_accepted_socket(protocol, accepted)
            return
        ACCEPTED.set(accepted)  # in the context of this task
        handshake: asyncio.Future[None] = self._loop.create_future()
        tls = SharedBufferProtocol(
            self._tls.read_buffer,
            loop=self._loop,
            app_protocol=protocol(),
            sslcontext=self._tls.context,
            waiter=handshake,
            server_side=True,
            ssl_handshake_timeout=self._tls.handshake_timeout,
            ssl_shutdown_timeout=_SHUTDOWN_SECONDS,
        )
        transport, _ = await self._loop.connect_accepted_socket(lambda: tls, accepted)
        try:
            await handshake
        except BaseException:
            transport.close()
            raise

    def _suspend(self, why: OSError) -> None:
        """Leave connections in the system's queue for a moment; warn of it at most once a minute."""
        if self._loop.time() >= self._next_warning_at:
            self._next_warning_at = self._loop.time() + _WARNING_INTERVAL_SECONDS
            remedy = "raise `ulimit -n`, or close connections that nobody uses"
            _LOG.warning("no connection can be accepted: %s; those that wait are tried again: %s", why.strerror, remedy)
        self._loop.remove_reader(self._listening)
        self._resume_timer = self._loop.call_later(_PAUSE_SECONDS, self._loop.add_reader, self._listening, self._accept)


def _check_descriptors(listening: socket.socket) -> None:
    """Raise OSError where no descriptor is left for another connection."""
    # The system gives the lowest free number, so the number of a copy tells how many are taken.
    lowest_free = os.dup(listening.fileno())
    os.close(lowest_free)
    if resource is not None:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if limit != resource.RLIM_INFINITY and lowest_free >= limit - min(_SPARE_DESCRIPTORS, limit // 8):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
