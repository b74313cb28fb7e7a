"""Projection of values from one schema to another (Kafka Connect's `SchemaProjector`)."""

from __future__ import annotations

from typing import Any

from eosfw.data.fitting import default_of
from eosfw.data.schema import Schema, Type
from eosfw.errors import DataError

__all__ = ["project"]

_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
"""Each may be projected to those behind it."""


def project(source: Schema, value: Any, target: Schema) -> Any:
    """A value that fits `source`, as `target` wants it: fields that are not there are left out, new ones get defaults.

    DataError if the schemas are not compatible: other types or names, an optional source without a default in the
    target, a new field without a default.
    """
    if source.optional and not target.optional:
        if target.default is None:
            raise DataError("Writer schema is optional, however, target schema does not provide a default value.")
        return default_of(target) if value is None else _required(source, value, target)
    return None if value is None else _required(source, value, target)


def _required(source: Schema, value: Any, target: Schema) -> Any:
    if source.type is not target.type and not _widens(source, target):
        raise DataError(f"Schema type mismatch. source type: {source.type.name} and target type: {target.type.name}")
    if source.name != target.name:
        raise DataError(f"Schema name mismatch. source name: {source.name} and target name: {target.name}")
    if source.parameters != target.parameters:
        raise DataError(
            f"Schema parameters not equal. source parameters: {dict(source.parameters)} "
            f"and target parameters: {dict(target.parameters)}"
        )
    if target.type is Type.STRUCT:
        return _struct(source, value, target)
    if target.type in (Type.ARRAY, Type.MAP):
        return _container(source, value, target)
    return float(value) if target.type in (Type.FLOAT32, Type.FLOAT64) else value


def _widens(source: Schema, target: Schema) -> bool:
    if source.type not in _NUMBERS or target.type not in _NUMBERS:
        return False
    return _NUMBERS.index(source.type) <= _NUMBERS.index(target.type)


def _struct(source: Schema, value: Any, target: Schema) -> dict[str, Any]:
    made = {}
    for one in target.fields:
        known = source.field(one.name)
        if known is not None:
            try:
                made[one.name] = project(known, value[one.name], one.schema)
            except DataError as why:
                raise DataError(f"Error projecting {one.name}: {why}") from None
        elif one.schema.default is not None:
            made[one.name] = default_of(one.schema)
        elif one.schema.optional:
            made[one.name] = None
        else:
            raise DataError(f"Required field `{one.name}` is missing from source schema: STRUCT")
    return made


def _container(source: Schema, value: Any, target: Schema) -> Any:
    values, wanted = source.value_schema, target.value_schema
    assert values is not None
    assert wanted is not None
    if source.type is Type.ARRAY:
        return [project(values, one, wanted) for one in value]
    keys, wanted_keys = source.key_schema, target.key_schema
    assert keys is not None
    assert wanted_keys is not None
    return {project(keys, key, wanted_keys): project(values, one, wanted) for key, one in value.items()}
