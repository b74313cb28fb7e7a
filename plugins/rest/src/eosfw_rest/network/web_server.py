"""The event loop of the REST interface, in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import math
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import uvicorn

from eosfw.concurrency import Runtime
from eosfw.open_files import none_left
from eosfw_rest.network.header_timeout import TimedProtocol
from eosfw_rest.network.thread_pool import ThreadPool

if TYPE_CHECKING:
    from ssl import SSLContext

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_MOST_THREADS: Final = 64
_MOST_CONNECTIONS: Final = 1000
_LARGEST_HEAD: Final = 2**16
_KEEP_ALIVE_SECONDS: Final = 30
_GRACE_SECONDS: Final = 1.0
_WARNING_INTERVAL_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class BoundListener:
    """A socket that is bound, with the ASGI application that it serves; with `tls` it speaks https."""

    socket: socket.socket
    tls: SSLContext | None
    app: Any


class WebServer:
    """Serves ASGI applications at some sockets until it is closed."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._pool = ThreadPool(runtime, "rest", _MOST_THREADS)
        self._sign_in = ThreadPool(runtime, "rest-sign-in", 1)
        self._servers: list[uvicorn.Server] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._awaited: set[asyncio.Future[Any]] = set()
        """What requests under way wait for; used on the thread of the event loop alone."""
        self._next_warning_at = -math.inf

    def start(self, listeners: Sequence[BoundListener]) -> None:
        """Serve from now on, in another thread."""
        self._servers = [uvicorn.Server(_settings(one.app, one.tls)) for one in listeners]
        self._listeners = listeners
        self._thread = self._runtime.spawn("rest", self._run)

    async def in_thread(self, call: Callable[[], _T]) -> _T:
        """The result of a call that may block; it must not raise."""
        return await self._called(self._pool, call)

    async def in_sign_in_thread(self, call: Callable[[], _T]) -> _T:
        """The result of checking a password, one after the other; it must not raise."""
        return await self._called(self._sign_in, call)

    async def _called(self, pool: ThreadPool, call: Callable[[], _T]) -> _T:
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[_T] = loop.create_future()

        def deliver(result: _T) -> None:
            if not answered.done():
                answered.set_result(result)

        def job() -> None:
            result = call()
            if not loop.is_closed():
                loop.call_soon_threadsafe(deliver, result)

        pool.submit(job)
        self._awaited.add(answered)
        try:
            return await answered
        finally:
            self._awaited.discard(answered)

    def close(self) -> None:
        """End the event loop and its threads; requests under way are cancelled after a second."""
        for server in self._servers:
            server.should_exit = True
        if not self._thread.join(_GRACE_SECONDS) and self._loop is not None:
            # Before uvicorn cancels them, which it logs as an error, with a traceback for each.
            with suppress(RuntimeError):  # the loop has ended meanwhile
                self._loop.call_soon_threadsafe(self._cancel_awaited)
            self._thread.join(3 * _GRACE_SECONDS)
        for pool in (self._pool, self._sign_in):
            pool.close(_GRACE_SECONDS)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve())

    def _cancel_awaited(self) -> None:
        for answered in self._awaited:
            answered.cancel()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._report)
        pairs = zip(self._servers, self._listeners, strict=True)
        await asyncio.gather(*(server.serve([listener.socket]) for server, listener in pairs))

    def _report(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or not none_left(error):
            loop.default_exception_handler(context)
        # asyncio reports it for each connection that might wait, a thousand times a second.
        elif loop.time() >= self._next_warning_at:
            self._next_warning_at = loop.time() + _WARNING_INTERVAL_SECONDS
            remedy = "raise `ulimit -n`, or close connections that nobody uses"
            _log.warning(
                "REST: no connection can be accepted: %s; those that wait are tried again: %s", error.strerror, remedy
            )


def _settings(app: Any, tls: SSLContext | None) -> uvicorn.Config:
    settings = uvicorn.Config(
        app,
        http=TimedProtocol,
        loop="none",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(2 * _GRACE_SECONDS),
    )
    settings.load()
    settings.ssl = tls
    return settings
