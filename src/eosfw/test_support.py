"""What a cluster of this machine may offer to tests beside its contract."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from eosfw.ids import ProducerIdAndEpoch, TopicPartition

__all__ = ["FaultInjection", "Faults", "ProducerLookup"]


@runtime_checkable
class ProducerLookup(Protocol):
    """A cluster that knows who wrote a record."""

    def producer_of(self, partition: TopicPartition, offset: int) -> ProducerIdAndEpoch | None:
        """The producer; None for one without an id, or where there is no record."""


class Faults(Protocol):
    """What shall go wrong in a cluster."""

    def add(self, what: str, **fields: object) -> Any:
        """Have something go wrong once or more; ConfigError for what does not exist.

        The fault tells whether it struck (`fired`, `firings`), waits for that (`await_fired(timeout)`), lets go of what
        it delays (`release()`).
        """


@runtime_checkable
class FaultInjection(Protocol):
    """A cluster that fails on demand."""

    faults: Faults
