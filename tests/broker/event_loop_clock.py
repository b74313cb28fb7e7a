"""The clock by which a broker closes connections that are idle, or late to authenticate themselves."""

from __future__ import annotations

from eosfw_memory.cluster import EmbeddedCluster


class EventLoopClock:
    """The clock of the event loop of a broker, which a test puts forward.

    A time that a busy machine never needs can so be over at once.
    """

    def __init__(self, cluster: EmbeddedCluster) -> None:
        assert cluster._server is not None
        self._loop, self._ahead = cluster._server._loop, 0.0
        clock = self._loop.time
        self._loop.time = lambda: clock() + self._ahead  # type: ignore[method-assign]

    def put_forward(self, seconds: float) -> None:
        """Let time pass; what is due now is done soon."""
        self._ahead += seconds
        self._loop.call_soon_threadsafe(lambda: None)  # it waits by the time before
