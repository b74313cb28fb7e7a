"""Offer the confluent-kafka client to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import PluginDesc, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable


@hookimpl
def eosfw_backends() -> Iterable[PluginDesc]:
    """Offer librdkafka as a client of clusters."""
    return [PluginDesc("eosfw_confluent.backend:ConfluentBackend", "confluent")]
