"""Values of Python for the numbers and bytes in which Avro keeps those of logical types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, Final

from eosfw.data import (
    DATE,
    TIME,
    TIMESTAMP,
    Schema,
    Type,
    decimal_of,
    decimal_scale,
    time_of_millis,
    timestamp_of_millis,
)
from eosfw_schema_registry.avro.form import DECIMAL

_FIRST_DAY: Final = date(1970, 1, 1).toordinal()


def logical_reader(schema: Schema) -> Callable[[Any], Any] | None:
    """What makes values of the numbers or bytes that Avro keeps; None where they are the values."""
    if schema.name == DECIMAL and schema.type is Type.BYTES:
        scale = decimal_scale(schema)
        return lambda data: decimal_of(data, scale)
    return _READERS.get((schema.type, schema.name), _WIDTHS.get(schema.type))


_READERS: Final[Mapping[tuple[Type, str | None], Callable[[Any], Any]]] = {
    (DATE.type, DATE.name): lambda days: date.fromordinal(_FIRST_DAY + days),
    (TIME.type, TIME.name): time_of_millis,
    (TIMESTAMP.type, TIMESTAMP.name): timestamp_of_millis,
}
_WIDTHS: Final[Mapping[Type, Callable[[int], int]]] = {
    # As Java narrows numbers: their low bits.
    Type.INT8: lambda number: (number + (1 << 7)) % (1 << 8) - (1 << 7),
    Type.INT16: lambda number: (number + (1 << 15)) % (1 << 16) - (1 << 15),
}
