"""Offer the converters to the framework."""

from __future__ import annotations

from collections.abc import Iterable

from eosfw.hookspecs import hookimpl
from eosfw.protocols import Converter
from eosfw_schema_registry.avro.converter import AvroConverter
from eosfw_schema_registry.json_schema.converter import JsonSchemaConverter
from eosfw_schema_registry.protobuf.converter import ProtobufConverter


@hookimpl
def eosfw_converters() -> Iterable[type[Converter]]:
    """Offer Avro, JSON Schema and Protobuf."""
    return [AvroConverter, JsonSchemaConverter, ProtobufConverter]
