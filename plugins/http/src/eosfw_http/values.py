"""Records of an API as values of the schema that the properties give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eosfw.builtin.converters import read_payload
from eosfw.errors import DamagedDataError, DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eosfw.data import Schema


def values_of(schema: Schema | None, records: Sequence[dict[str, Any]]) -> Sequence[Any]:
    """Records as values of a schema, without the fields that it has not; as they are without one."""
    if schema is None:
        return records
    try:
        return [read_payload(schema, record) for record in records]
    except DataError as why:
        raise DamagedDataError(f"a record does not fit value.schema: {why}; correct the schema") from None
