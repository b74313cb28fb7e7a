"""The open clients of a task, so that another thread can close them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from eosfw.closeables import Closeable, CloseableT
from eosfw.concurrency import Runtime
from eosfw.errors import InterruptedRunError

logger = logging.getLogger(__name__)


class TaskResources:
    """The open clients of one task; thread-safe."""

    def __init__(self, runtime: Runtime) -> None:
        self._lock = runtime.lock()
        self._held: list[Closeable] = []
        self.is_shut_down = False
        """Whether another thread closed everything for good; errors of the task mean nothing afterwards."""

    def register(self, thing: CloseableT) -> CloseableT:
        """Keep a client until it is closed; InterruptedRunError, and the client closed, after a shutdown."""
        with self._lock:
            if not self.is_shut_down:
                self._held.append(thing)
                return thing
        thing.close()
        raise InterruptedRunError("the task was ended from outside")

    def unregister(self, thing: Closeable) -> None:
        """Keep a client no longer, without closing it."""
        with self._lock:
            self._held = [held for held in self._held if held is not thing]

    @contextmanager
    def kept(self, thing: CloseableT) -> Iterator[CloseableT]:
        """Keep a client for a block, which closes it itself."""
        self.register(thing)
        try:
            yield thing
        finally:
            self.unregister(thing)

    @contextmanager
    def lent(self, thing: CloseableT) -> Iterator[CloseableT]:
        """Keep a client for a block, then close it."""
        with closing(thing), self.kept(thing):
            yield thing

    def close(self) -> None:
        """Close every client, newest first."""
        # The lock is never held across a close, which may block or wake the task.
        with self._lock:
            held, self._held = self._held[::-1], []
        for thing in held:
            try:
                thing.close()
            except Exception:  # the client is not used again, whether its close failed or not
                logger.warning("closing %s failed", type(thing).__name__, exc_info=True)

    def shut_down(self, first: Callable[[], None] = lambda: None) -> None:
        """Close every client, from any thread, and those registered later; `first` is called while they are open."""
        # The flag comes first: a task that is in the middle of its start cannot add a client unnoticed.
        with self._lock:
            self.is_shut_down = True
        first()
        self.close()
