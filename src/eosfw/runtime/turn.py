"""Let one thread of control at a time do something that may block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from eosfw.concurrency import Queue, Runtime
from eosfw.errors import ClusterUnavailableError


class Turn:
    """A turn to take and to give back; unlike a lock it may be kept across blocking calls, so waiting is bounded."""

    def __init__(self, what: str, runtime: Runtime) -> None:
        self._what = what
        self._free: Queue[None] = runtime.queue()
        self._free.put(None)

    @contextmanager
    def taken(self, timeout: float) -> Iterator[None]:
        """Wait for the turn, keep it for the block."""
        try:
            self._free.get(timeout)
        except TimeoutError:
            raise ClusterUnavailableError(
                f"{self._what} was busy for {timeout:g} s; the call before it still waits for the cluster"
            ) from None
        try:
            yield
        finally:
            self._free.put(None)
