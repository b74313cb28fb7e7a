"""Kafka Connect's converters to text, bytes and JSON, by its names and properties.

Other converters to JSON may write values by the encoders that are named here, and whoever reads JSON may read schemas
and values as JsonConverter does.
"""

from eosfw.builtin.converters.json_reading import parse_json, read_payload, read_schema
from eosfw.builtin.converters.json_with_schema import Encoder, JsonForm, encoded_columns, encoder_of
from eosfw.builtin.converters.value_schema import value_schema

__all__ = [
    "Encoder",
    "JsonForm",
    "encoded_columns",
    "encoder_of",
    "parse_json",
    "read_payload",
    "read_schema",
    "value_schema",
]
