"""Look regularly for transactions that are open beyond their timeout."""

from __future__ import annotations

import logging

from eosfw.waiting import Runtime
from eosfw_memory.broker import Broker

_LOG = logging.getLogger(__name__)
_STOP_SECONDS = 10.0


def sweep(broker: Broker) -> None:
    """Look once; never raises, since the next look must come."""
    try:
        late = broker.sweep()
    except Exception:  # noqa: BLE001 the next sweep must come
        _LOG.exception("looking for transactions beyond their timeout failed")
    else:
        for name in late:
            _LOG.info("transaction of %r was open beyond its timeout: aborted, its producer fenced", name)


class Sweeper:
    """Looks on a thread of control of its own, for a broker that has no other."""

    def __init__(self, broker: Broker, runtime: Runtime) -> None:
        self._broker = broker
        self._stop = runtime.event()
        self._thread = runtime.spawn("eosfw-broker", self._run)

    def close(self) -> None:
        """Look no more."""
        self._stop.set()
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        while not self._stop.wait(self._broker.settings.sweep_interval_ms / 1000):
            sweep(self._broker)
