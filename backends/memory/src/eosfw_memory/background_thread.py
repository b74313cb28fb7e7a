"""Have a broker do regularly what it does by itself."""

from __future__ import annotations

from eosfw.concurrency import Runtime
from eosfw_memory.broker import Broker

_STOP_SECONDS = 10.0


class BackgroundThread:
    """Does so on a thread of control of its own, for a broker that has no other."""

    def __init__(self, broker: Broker, runtime: Runtime) -> None:
        self._broker = broker
        self._stop = runtime.event()
        self._thread = runtime.spawn("eosfw-broker", self._run)

    def close(self) -> None:
        """Do no more."""
        self._stop.set()
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        while not self._stop.wait(self._broker.idle_seconds()):
            self._broker.run_due_tasks()
