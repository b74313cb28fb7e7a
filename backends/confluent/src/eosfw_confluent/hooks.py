"""Offer the confluent-kafka client to the framework."""

from __future__ import annotations

from collections.abc import Iterable

from eosfw.hookspecs import hookimpl
from eosfw.protocols import Backend, Fencer
from eosfw_confluent.backend import ConfluentBackend
from eosfw_confluent.fencer import ConfluentFencer


@hookimpl
def eosfw_backends() -> Iterable[type[Backend]]:
    """Offer librdkafka as a client of clusters."""
    return [ConfluentBackend]


@hookimpl
def eosfw_fencers() -> Iterable[type[Fencer]]:
    """Offer fencing by initialisation."""
    return [ConfluentFencer]
