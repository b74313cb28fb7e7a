"""Offer the kafka-python client to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import PluginDesc, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable


@hookimpl
def eosfw_backends() -> Iterable[PluginDesc]:
    """Offer kafka-python as a client of clusters."""
    return [PluginDesc("eosfw_kafka_python.backend:KafkaPythonBackend", "kafka-python")]
