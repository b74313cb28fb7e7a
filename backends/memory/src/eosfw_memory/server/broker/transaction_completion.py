"""Complete transactions in steps, with a wait for the disk between them (`--flush=fsync`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eosfw_memory.common.interceptors import BrokerStoppedError
from eosfw_memory.server.broker.state import BrokerState
from eosfw_memory.storage.files.group_fsync import Completable


class StepwiseCompletion:
    """Writes markers once the decisions are on the disk, and logs Complete once the markers are."""

    def __init__(self, broker: BrokerState, restart: Callable[[float], None]) -> None:
        self._broker = broker
        self._restart = restart

    def ready(self) -> Completable:
        markers = self._broker.coordinator.markers
        return Completable(self._broker.restarts, markers.decided, markers.marked)

    def complete_step(self, ready: Completable) -> bool:
        broker, markers = self._broker, self._broker.coordinator.markers
        # Complete before markers: what is marked in this very step is on the disk after the next wait only.
        self._step(ready, lambda: markers.log_completed(broker.now_ms(), ready.marked))
        self._step(ready, lambda: markers.write_markers(ready.decided))
        return not markers.is_empty

    def is_ending(self, transactional_id: str) -> bool:
        return self._broker.coordinator.is_ending(transactional_id)

    def _step(self, ready: Completable, make: Callable[[], None]) -> None:
        broker = self._broker
        if broker.down or ready.restarts != broker.restarts:  # after a restart all of them wait for the disk first
            return
        try:
            make()
        except BrokerStoppedError as stopped:
            self._restart(stopped.down)


def transactional_id_of(request: Any) -> str | None:
    """The id of a client that wants an answer to a step of its transaction."""
    if getattr(request, "acks", None) == 0:
        return None
    name = getattr(request, "transactional_id", None)
    return name if name is not None else getattr(request, "v3_and_below_transactional_id", None)
