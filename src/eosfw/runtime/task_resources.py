"""Hold what a task must let go of, so that others can take it away."""

from __future__ import annotations

import logging
from collections.abc import Callable

from eosfw.closeables import Closeable, CloseableT
from eosfw.concurrency import Runtime
from eosfw.errors import InterruptedRunError

logger = logging.getLogger(__name__)


class TaskResources:
    """Open clients of one task; thread-safe."""

    def __init__(self, runtime: Runtime) -> None:
        self._lock = runtime.lock()
        self._held: list[Closeable] = []
        self.is_shut_down = False
        """Somebody closed everything for good: errors of the owner say nothing any more."""

    def register(self, thing: CloseableT) -> CloseableT:
        """Hold a thing, unless everything was taken away already."""
        with self._lock:
            if not self.is_shut_down:
                self._held.append(thing)
                return thing
        thing.close()
        raise InterruptedRunError("the task was ended from outside")

    def unregister(self, thing: Closeable) -> None:
        """Hold a thing no longer, without closing it."""
        with self._lock:
            self._held = [held for held in self._held if held is not thing]

    def close(self) -> None:
        """Close what is held, newest first."""
        with self._lock:
            held, self._held = self._held[::-1], []
        for thing in held:
            try:
                thing.close()
            except Exception:  # closing is the end of its use either way
                logger.warning("closing %s failed", type(thing).__name__, exc_info=True)

    def shut_down(self, first: Callable[[], None] = lambda: None) -> None:
        """Close what is held, from any thread, and whatever is added later; `first` still finds it open."""
        with self._lock:
            self.is_shut_down = True
        first()
        self.close()
