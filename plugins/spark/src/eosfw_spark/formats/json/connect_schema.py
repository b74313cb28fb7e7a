"""Arrow types of the schemas in envelopes of Kafka Connect's `JsonConverter`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from eosfw_spark.formats.spark_types import TIMESTAMP, list_of
from eosfw_spark.formats.undecodable import UndecodableError

LARGEST_DECIMAL: Final = 38
"""Digits of Spark's decimals; Kafka Connect states a scale alone."""
_PLAIN: Final = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_LOGICAL: Final = {
    ("org.apache.kafka.connect.data.Date", "int32"): pa.date32(),
    ("org.apache.kafka.connect.data.Timestamp", "int64"): TIMESTAMP,
}
DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
_WIDER: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64())
"""Each holds those before it, as Kafka Connect's `SchemaProjector` has it."""


def arrow_type(schema: Any) -> pa.DataType:
    """The type of a schema; ValueError says what is wrong with it.

    A Time stays a number of milliseconds: not every Spark has a type for it.
    """
    if not isinstance(schema, Mapping):
        raise ValueError("is no JSON object")  # noqa: TRY004 - what is wrong with the schema, whatever it is
    kind, name = schema.get("type"), schema.get("name")
    if name == DECIMAL and kind == "bytes":
        return _decimal(schema)
    if kind == "struct":
        fields = schema.get("fields")
        if not isinstance(fields, list) or not all(isinstance(each, Mapping) for each in fields):
            raise ValueError("is a struct without fields")
        return pa.struct([pa.field(str(each.get("field")), arrow_type(each)) for each in fields])
    if kind == "array":
        return list_of(arrow_type(schema.get("items")))
    if kind == "map":
        return pa.map_(arrow_type(schema.get("keys")), arrow_type(schema.get("values")))
    if not isinstance(kind, str) or kind not in _PLAIN:
        raise ValueError("has no type that Kafka Connect knows")
    return _LOGICAL.get((str(name), kind), _PLAIN[kind])


def _decimal(schema: Mapping[str, Any]) -> pa.DataType:
    try:
        scale = int(schema["parameters"]["scale"])
    except (KeyError, TypeError, ValueError):
        raise ValueError("has a Decimal without a scale") from None
    if not 0 <= scale <= LARGEST_DECIMAL:
        raise ValueError(f"has a Decimal of scale {scale}; Spark has 0 to {LARGEST_DECIMAL}")
    return pa.decimal128(LARGEST_DECIMAL, scale)


def check_projection(written: pa.DataType, wanted: pa.DataType) -> None:
    """Raise UndecodableError unless data of one type fit the other (Kafka Connect's `SchemaProjector`)."""
    types = pa.types
    if written == wanted or (types.is_decimal(written) and types.is_decimal(wanted)):
        return
    if types.is_struct(written) and types.is_struct(wanted):
        _check_fields(written, wanted)
    elif types.is_list(written) and types.is_list(wanted):
        check_projection(written.value_type, wanted.value_type)
    elif types.is_map(written) and types.is_map(wanted):
        check_projection(written.key_type, wanted.key_type)
        check_projection(written.item_type, wanted.item_type)
    elif written not in _WIDER or wanted not in _WIDER or _WIDER.index(written) > _WIDER.index(wanted):
        raise UndecodableError("its schema has another type than that of the first record")


def _check_fields(written: pa.DataType, wanted: pa.DataType) -> None:
    names = {each.name: each.type for each in written}
    for each in wanted:
        if each.name in names:
            try:
                check_projection(names[each.name], each.type)
            except UndecodableError as why:
                why.path.insert(0, each.name)
                raise
