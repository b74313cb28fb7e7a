"""Keep what is sent before the cluster was met, which only a producer without transactional id may do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from eosfw.concurrency import Event, Runtime
from eosfw.errors import EosfwError
from eosfw.protocols import DeliveryCallback
from eosfw_kafka_python.partitioner import Partitioner

SendToPartitioner = Callable[[Partitioner], None]
"""Hands some records over to the library."""


class ProducerCalls(NamedTuple):
    """What a producer does: meet the cluster, hand records over, tell who sent one why it was not written."""

    meet: Callable[[], Partitioner]
    hand_over: Callable[[SendToPartitioner, Partitioner], None]
    failed: Callable[[DeliveryCallback, EosfwError], None]


class MetadataBuffer:
    """One thread that meets the cluster, then hands over what was kept, in the order it came.

    It holds on to a producer no longer than that takes: one that was dropped is to end at once.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.partitioner: Partitioner | None = None
        """Takes records directly, once everything that was kept is handed over."""
        self._runtime = runtime
        self._lock = runtime.lock()
        self._kept: list[tuple[SendToPartitioner, DeliveryCallback | None]] = []
        self._met: Event | None = None
        self._failure: EosfwError | None = None

    def keep(self, hand_over: SendToPartitioner, on_delivery: DeliveryCallback | None, steps: ProducerCalls) -> bool:
        """Keep records for later and see to it that the cluster is met; False if that was done meanwhile."""
        with self._lock:
            if self.partitioner is not None:
                return False
            self._kept.append((hand_over, on_delivery))
            if self._met is None:
                self._met = self._runtime.event()
                self._runtime.spawn("eosfw-metadata", partial(self._meet, steps))
            return True

    def over(self, wait: float) -> bool:
        """Wait, at most so many seconds, until nothing is kept any more; tell whether it is so."""
        met = self._met
        return met is None or met.wait(wait)

    def raise_failure(self) -> None:
        """Raise once what kept a record from being handed over."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _meet(self, steps: ProducerCalls) -> None:
        found: Partitioner | EosfwError
        try:
            found = steps.meet()
        except EosfwError as why:
            found = self._failure = why
        while True:
            with self._lock:
                kept, self._kept = self._kept, []
                if not kept:
                    self.partitioner = found if isinstance(found, Partitioner) else None
                    met, self._met = self._met, None
                    break
            for hand_over, on_delivery in kept:
                self._hand_over_late(hand_over, on_delivery, found, steps)
        if met is not None:
            met.set()

    def _hand_over_late(
        self,
        hand_over: SendToPartitioner,
        on_delivery: DeliveryCallback | None,
        found: Partitioner | EosfwError,
        steps: ProducerCalls,
    ) -> None:
        try:
            if isinstance(found, EosfwError):
                raise found
            steps.hand_over(hand_over, found)
        except EosfwError as why:
            self._failure = self._failure or why
            if on_delivery is not None:
                steps.failed(on_delivery, why)
