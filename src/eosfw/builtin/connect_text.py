"""Values written as texts (Kafka Connect's `Values.convertToString`)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any

from eosfw.builtin.connect_json import java_double
from eosfw.builtin.java.numbers import decimal_text, float_text
from eosfw.builtin.java.times import iso_text, millis
from eosfw.data import Schema, Type, default_of
from eosfw.errors import DataError

__all__ = ["convert_to_string"]


def convert_to_string(schema: Schema | None, value: Any) -> str:
    """The text of a value; DataError, without the value, for one of an unknown type. `parse_string` reads it."""
    return value if isinstance(value, str) else _text(schema, value, str)


def _embedded(schema: Schema | None, value: Any) -> str:
    """The text of a part of another value: texts and bytes are in quotes."""
    if isinstance(value, str):
        return _quoted(value.replace("\\", "\\\\").replace('"', '\\"'))
    return _text(schema, value, _quoted)


def _quoted(text: str) -> str:
    return f'"{text}"'


def _text(schema: Schema | None, value: Any, of_bytes: Callable[[str], str]) -> str:
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    if isinstance(value, float):
        return float_text(value) if schema is not None and schema.type is Type.FLOAT32 else java_double(value)
    if isinstance(value, (int, Decimal)):
        return decimal_text(value) if isinstance(value, Decimal) else str(int(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return of_bytes(b64encode(value).decode())
    if isinstance(value, (date, time)):
        return iso_text(millis(value))
    return _container(schema, value)


def _container(schema: Schema | None, value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_elements(schema, value))}]"
    if not isinstance(value, Mapping):
        raise DataError(f"Failed to serialize unexpected value type {type(value).__name__}")
    if schema is not None and schema.type is Type.STRUCT:
        return f"{{{','.join(_fields(schema, value))}}}"
    of_keys, of_values = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
    return f"{{{','.join(f'{_embedded(of_keys, key)}:{_embedded(of_values, one)}' for key, one in value.items())}}}"


def _elements(schema: Schema | None, value: Sequence[Any]) -> Iterable[str]:
    of_values = None if schema is None else schema.value_schema
    return (_embedded(of_values, one) for one in value)


def _fields(schema: Schema, value: Mapping[str, Any]) -> Iterable[str]:
    for field in schema.fields:
        one = value[field.name]
        shown = default_of(field.schema) if one is None else one
        yield f"{_embedded(None, field.name)}:{_embedded(field.schema, shown)}"


_CONSTANTS = {None: "null", True: "true", False: "false"}
