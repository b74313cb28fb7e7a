"""Offer the converters to the framework."""

from __future__ import annotations

from collections.abc import Iterable

from eosfw.hookspecs import hookimpl
from eosfw.protocols import Converter
from eosfw_schema_registry.avro.converter import AvroConverter


@hookimpl
def eosfw_converters() -> Iterable[type[Converter]]:
    """Offer Avro."""
    return [AvroConverter]
