"""Offer the framework's own parts by the door every plugin uses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from eosfw.hookspecs import hookimpl

if TYPE_CHECKING:
    from eosfw.protocols import Fencer, IsolationReader, OffsetStore


@hookimpl
def eosfw_offset_stores() -> Iterable[type[OffsetStore]]:
    """Offer Kafka Connect's own form of source offsets."""
    from eosfw.builtin.offset_store import KafkaOffsetStore

    return [KafkaOffsetStore]


@hookimpl
def eosfw_isolation_readers() -> Iterable[type[IsolationReader]]:
    """Offer Kafka's two isolation levels."""
    from eosfw.builtin.isolation import ReadCommitted, ReadUncommitted

    return [ReadCommitted, ReadUncommitted]


@hookimpl
def eosfw_fencers() -> Iterable[type[Fencer]]:
    """Offer the fencer of every backend that brings none of its own."""
    from eosfw.builtin.fencer import AdminFencer

    return [AdminFencer]
