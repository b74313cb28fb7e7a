"""Give timestamps without time zone the one that they are meant in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable


def localized(schema: pa.Schema, zone: str | None) -> tuple[pa.Schema, Callable[[pa.RecordBatch], pa.RecordBatch]]:
    """The schema with the zone in such timestamps, and what makes batches fit it; within structs they stay."""
    at = [number for number, one in enumerate(schema) if zone is not None and _is_local(one.type)]
    if not at:
        return schema, lambda batch: batch
    for number in at:
        one = schema.field(number)
        schema = schema.set(number, one.with_type(pa.timestamp(one.type.unit, zone)))

    def made(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = list(batch.columns)
        for number in at:
            columns[number] = pc.assume_timezone(columns[number], zone, ambiguous="earliest", nonexistent="earliest")
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return schema, made


def _is_local(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is None
