"""Offer the kafka-python client to the framework."""

from __future__ import annotations

from collections.abc import Iterable

from eosfw.hookspecs import hookimpl
from eosfw.protocols import Backend
from eosfw_kafka_python.backend import KafkaPythonBackend


@hookimpl
def eosfw_backends() -> Iterable[type[Backend]]:
    """Offer kafka-python as a client of clusters."""
    return [KafkaPythonBackend]
