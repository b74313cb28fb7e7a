"""The defaults of columns that a schema can say: constants, and a stand-in for what a function computes."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from eosfw.data import Type
from eosfw.errors import DataError
from eosfw_postgres.types import CatalogType, ColumnType
from eosfw_postgres.types.numbers import scale_and_precision

__all__ = ["default_of_column"]

_QUOTED = re.compile(r"B?'((?:[^']|'')*)'(?:::.*)?", re.DOTALL)
_PLAIN = re.compile(r"\(?(-?[\d.]+)\)?(?:::[\w ]+(?:\([\d,]+\))?)?|(true|false)")
_CALL = re.compile(r"\(?[A-Za-z0-9_.\"]+\(.*|CURRENT_\w+.*|LOCALTIME\w*.*", re.DOTALL)

_COMPUTED = {
    **dict.fromkeys(("int2", "int4", "int8", "numeric", "float4", "float8"), "0"),
    **dict.fromkeys(("text", "varchar", "bpchar", "xml"), ""),
    "bool": "f",
    "json": "{}",
    "jsonb": "{}",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "date": "1970-01-01",
    "time": "00:00:00",
    "timestamp": "1970-01-01 00:00:00",
    "timestamptz": "1970-01-01 00:00:00+00",
    "interval": "00:00:00",
    "bit": "0",
    "varbit": "0",
}
"""What Debezium puts in the place of a value that a function computes; other types have no defaults there."""
_TRUTH = {"true": "t", "false": "f"}


def default_of_column(expression: str | None, kind: CatalogType, typmod: int, shown: ColumnType) -> Any:
    """The default that `pg_get_expr` writes as an expression; None for none, and for one that must be computed."""
    if expression is None or shown.schema.type is Type.STRUCT or not (kind.labels or kind.name in _COMPUTED):
        return None
    text = _text(expression, kind)
    if text is None:
        return None
    try:
        return shown.parse([_scaled(text, typmod) if kind.name == "numeric" else _TRUTH.get(text, text)])[0]
    except (DataError, ValueError, KeyError, InvalidOperation):
        return None


def _text(expression: str, kind: CatalogType) -> str | None:
    if _CALL.fullmatch(expression):
        return _COMPUTED.get(kind.name)
    quoted = _QUOTED.fullmatch(expression)
    if quoted is not None:
        return quoted[1].replace("''", "'")
    plain = _PLAIN.fullmatch(expression)
    return plain and (plain[1] or plain[2])


def _scaled(text: str, typmod: int) -> str:
    limits = scale_and_precision(typmod)
    return text if limits is None else format(Decimal(text), f".{max(limits[0], 0)}f")
