"""Close what others were given, if they still have it."""

from __future__ import annotations

from typing import Protocol, TypeVar
from weakref import WeakSet

from eosfw.concurrency import Runtime

__all__ = ["Closeable", "CloseableT", "WeakCloseables"]


class Closeable(Protocol):
    """Closed from any thread, twice if need be."""

    def close(self) -> None:
        """Let go at once."""


CloseableT = TypeVar("CloseableT", bound=Closeable)


class WeakCloseables:
    """What a backend has made, for as long as somebody else holds it; thread-safe."""

    def __init__(self, runtime: Runtime) -> None:
        self._lock = runtime.lock()
        self._made: WeakSet[Closeable] = WeakSet()

    def add(self, made: CloseableT) -> CloseableT:
        """Take note of a thing that will have to be closed; gives it back."""
        with self._lock:
            self._made.add(made)
        return made

    def close(self) -> None:
        """Close what is left; what is made later is not concerned."""
        with self._lock:
            left = list(self._made)
        for made in left:
            made.close()
