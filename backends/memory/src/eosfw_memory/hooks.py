"""Offer what this distribution has to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import PluginDesc, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable


@hookimpl
def eosfw_clusters() -> Iterable[PluginDesc]:
    """The embedded broker."""
    return [PluginDesc("eosfw_memory.cluster:EmbeddedCluster", "memory")]


@hookimpl
def eosfw_backends() -> Iterable[PluginDesc]:
    """A client that calls an embedded broker directly, or any broker over a socket."""
    return [PluginDesc("eosfw_memory.client.backend:MemoryBackend", "memory")]
