"""Offer the confluent-kafka client to the framework."""

from __future__ import annotations

from collections.abc import Iterable

from eosfw.hookspecs import hookimpl
from eosfw.protocols import Backend, Converter
from eosfw_confluent.avro_converter import AvroConverter
from eosfw_confluent.backend import ConfluentBackend


@hookimpl
def eosfw_backends() -> Iterable[type[Backend]]:
    """Offer librdkafka as a client of clusters."""
    return [ConfluentBackend]


@hookimpl
def eosfw_converters() -> Iterable[type[Converter]]:
    """Offer Avro by confluent-kafka's serializer."""
    return [AvroConverter]
