"""Values as Avro's bytes, by fastavro."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

from eosfw.errors import DataError

Encoder = Callable[[Any], bytes]


def encoder(text: str, head: bytes) -> Encoder:
    """Writes values of an Avro schema behind a head; DataError, from it too, if the schema is none."""
    from fastavro import parse_schema, schemaless_writer

    try:
        parsed = parse_schema(json.loads(text))
    except Exception as why:  # noqa: BLE001 the library raises many
        raise DataError(f"it is no Avro schema: {why}") from None

    def encode(value: Any) -> bytes:
        out = BytesIO()
        out.write(head)
        try:
            schemaless_writer(out, parsed, value)
        except Exception as why:  # noqa: BLE001 same
            raise DataError(_mismatch(parsed, value, why)) from None
        return out.getvalue()

    return encode


def _mismatch(parsed: Any, value: Any, why: Exception) -> str:
    """What does not fit; never the value, which the library's own texts show."""
    from fastavro import validate
    from fastavro._validate_common import ValidationError

    try:
        validate(value, parsed, raise_errors=True)
    except ValidationError as errors:
        first = errors.errors[0]
        found = type(first.datum).__name__
        return f"field {first.field!r} is of type {found}; its Avro schema wants {_shown(first.schema)}"
    except Exception as other:  # noqa: BLE001 it stumbles over the same value
        why = other
    return f"it does not fit the Avro schema ({type(why).__name__})"


def _shown(schema: Any) -> str:
    if isinstance(schema, list):
        return " or ".join(map(_shown, schema))
    if isinstance(schema, dict):
        return str(schema.get("name") or schema["type"])
    return str(schema)
