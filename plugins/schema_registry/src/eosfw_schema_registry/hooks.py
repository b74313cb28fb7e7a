"""Offer the converters to the framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import PluginDesc, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable


@hookimpl
def eosfw_converters() -> Iterable[PluginDesc]:
    """Offer Avro, JSON Schema and Protobuf."""
    return [
        PluginDesc(
            "eosfw_schema_registry.avro.converter:AvroConverter",
            "avro",
            ("io.confluent.connect.avro.AvroConverter", "AvroConverter"),
        ),
        PluginDesc(
            "eosfw_schema_registry.json_schema.converter:JsonSchemaConverter",
            "json-schema",
            ("io.confluent.connect.json.JsonSchemaConverter", "JsonSchemaConverter"),
        ),
        PluginDesc(
            "eosfw_schema_registry.protobuf.converter:ProtobufConverter",
            "protobuf",
            ("io.confluent.connect.protobuf.ProtobufConverter", "ProtobufConverter"),
        ),
    ]
