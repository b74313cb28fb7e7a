"""Offer the confluent-kafka client to the framework."""

from __future__ import annotations

from collections.abc import Iterable

from eosfw.hookspecs import hookimpl
from eosfw.protocols import Backend
from eosfw_confluent.backend import ConfluentBackend


@hookimpl
def eosfw_backends() -> Iterable[type[Backend]]:
    """Offer librdkafka as a client of clusters."""
    return [ConfluentBackend]
