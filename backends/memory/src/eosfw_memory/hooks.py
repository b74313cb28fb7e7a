"""Offer what this distribution has to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eosfw.protocols import Backend, LocalCluster


@hookimpl
def eosfw_clusters() -> Iterable[type[LocalCluster]]:
    """The embedded broker."""
    from eosfw_memory.cluster import EmbeddedCluster

    return [EmbeddedCluster]


@hookimpl
def eosfw_backends() -> Iterable[type[Backend]]:
    """A client that calls an embedded broker directly, or any broker over a socket."""
    from eosfw_memory.client.backend import MemoryBackend

    return [MemoryBackend]
