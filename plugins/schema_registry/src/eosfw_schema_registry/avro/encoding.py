"""Values as Avro's bytes by a schema that is not their own: one of the properties, or the registry's latest."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

from eosfw.errors import DataError
from eosfw_schema_registry.avro.type_check import type_check

Encoder = Callable[[Any], bytes]


def parsed_schema(texts: Sequence[str]) -> Any:
    """The last of these schemas, which may refer to those before it, as fastavro takes it; DataError if it is none."""
    from fastavro import parse_schema

    known: dict[str, Any] = {}
    try:
        return [parse_schema(json.loads(text), named_schemas=known) for text in texts][-1]
    except Exception as why:  # noqa: BLE001 the library raises many
        raise DataError(f"it is no Avro schema: {why}") from None


def encoder(parsed: Any) -> Encoder:
    """Writes data of Python by an Avro schema; DataError, with the name of the field, for what does not fit."""
    write, has_types = _writer(parsed), type_check(parsed)

    def encode(value: Any) -> bytes:
        if not has_types(value):
            raise DataError(_mismatch(parsed, value, TypeError()))
        return write(value)

    return encode


def _writer(parsed: Any) -> Encoder:
    """Writes data that fits an Avro schema."""
    from fastavro import schemaless_writer

    def encode(value: Any) -> bytes:
        out = BytesIO()
        try:
            schemaless_writer(out, parsed, value)
        except Exception as why:  # noqa: BLE001 the library raises many
            raise DataError(_mismatch(parsed, value, why)) from None
        return out.getvalue()

    return encode


def resolving_encoder(own: Any, encode_own: Encoder, other: Any) -> Encoder:
    """Writes values by another schema than their own, by Avro's rules for readers; DataError where these forbid it."""
    from fastavro import schemaless_reader

    encode = _writer(other)

    def encode_resolved(value: Any) -> bytes:
        written = encode_own(value)
        try:
            read = schemaless_reader(BytesIO(written), own, other, return_record_name=True)
        except Exception as why:  # noqa: BLE001 the library raises many, some with the value
            raise DataError(
                f"its schema cannot be resolved to the registry's latest one ({type(why).__name__})"
            ) from None
        return encode(read)

    return encode_resolved


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
