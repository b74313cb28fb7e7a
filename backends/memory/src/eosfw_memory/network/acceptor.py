"""Accept connections on a listening socket, Kafka's `Acceptor`.

asyncio's own server would do, but for the moment when no descriptor is free: then it logs an error and begins anew for
each connection that might wait, a thousand times a second.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
import socket
from collections.abc import Callable
from typing import Final

try:
    import resource
except ImportError:  # not every system has limits
    resource = None  # type: ignore[assignment]

_LOG = logging.getLogger(__name__)
_AT_ONCE: Final = 128
"""Connections that are accepted before others have their turn."""
_LEFT: Final = 32
_PAUSE_SECONDS: Final = 0.1
_SAID_EVERY_SECONDS: Final = 60.0


class Acceptor:
    """Gives each accepted socket a protocol of its own; lives on the running event loop."""

    def __init__(self, listening: socket.socket, protocol: Callable[[], asyncio.BaseProtocol]) -> None:
        self._listening = listening
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._beginning: set[asyncio.Task[object]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._say_at = -math.inf
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept)

    async def close(self) -> None:
        """Accept no more; on return each connection that was accepted is known to its protocol."""
        self._loop.remove_reader(self._listening)
        if self._pause is not None:
            self._pause.cancel()
        await asyncio.gather(*self._beginning, return_exceptions=True)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                _check_descriptors(self._listening)
                accepted = self._listening.accept()[0]
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as why:
                self._wait(why)
                return
            accepted.setblocking(False)
            task = self._loop.create_task(self._loop.connect_accepted_socket(self._protocol, accepted))
            self._beginning.add(task)
            task.add_done_callback(self._beginning.discard)

    def _wait(self, why: OSError) -> None:
        """Leave connections in the system's queue for a moment; say so now and then."""
        if self._loop.time() >= self._say_at:
            self._say_at = self._loop.time() + _SAID_EVERY_SECONDS
            remedy = "raise `ulimit -n`, or close connections that nobody uses"
            _LOG.warning("no connection can be accepted: %s; those that wait are tried again: %s", why.strerror, remedy)
        self._loop.remove_reader(self._listening)
        self._pause = self._loop.call_later(_PAUSE_SECONDS, self._go_on)

    def _go_on(self) -> None:
        self._loop.add_reader(self._listening, self._accept)


def _check_descriptors(listening: socket.socket) -> None:
    """Raise OSError where no descriptor is left for another connection."""
    lowest_free = os.dup(listening.fileno())
    os.close(lowest_free)
    if resource is not None:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if limit != resource.RLIM_INFINITY and lowest_free >= limit - min(_LEFT, limit // 8):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
