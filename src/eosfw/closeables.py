"""Closing of clients that were handed out and are still in use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Protocol, TypeVar, runtime_checkable
from weakref import WeakSet

from eosfw.concurrency import Runtime

__all__ = ["Closeable", "CloseableT", "WeakCloseables", "open_both", "run_all"]


@runtime_checkable
class Closeable(Protocol):
    """An object that can be closed from any thread, also twice (Java's `Closeable`)."""

    def close(self) -> None:
        """Close at once."""


CloseableT = TypeVar("CloseableT", bound=Closeable)
_OtherT = TypeVar("_OtherT")


class WeakCloseables:
    """Weak references to objects that must be closed; thread-safe. Objects that are garbage are forgotten."""

    def __init__(self, runtime: Runtime) -> None:
        self._lock = runtime.lock()
        self._made: WeakSet[Closeable] = WeakSet()

    def add(self, made: CloseableT) -> CloseableT:
        """Keep a weak reference to an object; return the object."""
        with self._lock:
            self._made.add(made)
        return made

    def close(self) -> None:
        """Close the objects that are left; objects that are added later stay open."""
        with self._lock:
            left = list(self._made)
        # Outside the lock: closing a client may take seconds, and `add` is called by threads that work.
        for made in left:
            made.close()


def run_all(*steps: Callable[[], object]) -> None:
    """Run the steps of a close in their order, also behind one that raises; raise the last error at the end."""
    with ExitStack() as stack:
        for step in reversed(steps):
            stack.callback(step)


def open_both(first: Callable[[], CloseableT], second: Callable[[], _OtherT]) -> tuple[CloseableT, _OtherT]:
    """Make two clients that are used together; if the second cannot be made, the first is closed."""
    opened = first()
    try:
        return opened, second()
    except BaseException:
        opened.close()
        raise
