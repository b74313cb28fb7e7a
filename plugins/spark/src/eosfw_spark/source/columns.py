"""The conversion of log batches to Arrow batches with the columns of Spark's Kafka source.

Spark's `KafkaRecordToRowConverter`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from eosfw.errors import DamagedDataError
from eosfw.records import Headers, LogBatch
from eosfw_spark.formats.typed_columns import RecordDecoder, TypedColumns

ROWS: Final = 65_536
"""Rows of one Arrow batch; with less than some ten thousand, the transfer to the JVM takes a notable part."""
BYTES: Final = 16 << 20
"""Bytes after which a batch ends early: a worker holds several copies of one on its way to the JVM."""
_LATEST: Final = (2**63 - 1) // 1000
"""The last timestamp of a record that Spark's type holds."""

_HEADER: Final = pa.struct([("key", pa.string()), ("value", pa.binary())])
HEADERS: Final = pa.list_(pa.field("element", _HEADER))
_FIELDS: Final = (
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", pa.timestamp("us", tz="UTC")),
    ("timestampType", pa.int32()),
)


def spark_schema(*, headers: bool) -> StructType:
    """The columns of Spark's Kafka source."""
    fields = [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
    if headers:
        header = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
        fields.append(StructField("headers", ArrayType(header)))
    return StructType(fields)


def arrow_schema(*, headers: bool) -> pa.Schema:
    """The same columns for Arrow."""
    return pa.schema([*_FIELDS, ("headers", HEADERS)] if headers else _FIELDS)


def arrow_batches(
    batches: Iterable[LogBatch], *, headers: bool, typed: TypedColumns | None = None
) -> Iterator[pa.RecordBatch]:
    """Gather batches of a log, column by column, into few large Arrow batches; decode keys and values with a format.

    Raises DamagedDataError for a record that does not decode, as the mode says.
    """
    gathered = _large_batches(batches, headers=headers)
    if typed is None:
        return gathered
    decoder = RecordDecoder(typed)
    return (decoder.decode(each) for each in gathered)


def _large_batches(batches: Iterable[LogBatch], *, headers: bool) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema(headers=headers)
    gathered: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        arrow = to_arrow(batch, schema)
        gathered.append(arrow)
        rows, size = rows + arrow.num_rows, size + arrow.nbytes
        if rows >= ROWS or size >= BYTES:
            yield _joined(gathered)
            gathered, rows, size = [], 0, 0
    if rows:
        yield _joined(gathered)


def to_arrow(batch: LogBatch, schema: pa.Schema) -> pa.RecordBatch:
    """One log batch as Arrow columns; only headers are converted record by record."""
    count = len(batch)
    columns = [
        pa.array(batch.keys, pa.binary()),
        pa.array(batch.values, pa.binary()),
        pa.repeat(pa.scalar(batch.topic, pa.string()), count),
        pa.repeat(pa.scalar(batch.partition, pa.int32()), count),
        _int64(batch.offsets),
        _microseconds(batch),
        pa.repeat(pa.scalar(batch.timestamp_type, pa.int32()), count),
    ]
    if len(schema) > len(columns):
        columns.append(_headers(batch.headers if batch.headers is not None else [()] * count))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _int64(numbers: Sequence[int]) -> pa.Array:
    if isinstance(numbers, memoryview):  # numbers side by side, which Arrow need not copy
        return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(numbers)])
    return pa.array(numbers, pa.int64())


def _microseconds(batch: LogBatch) -> pa.Array:
    """The timestamps as Spark has them, which counts microseconds; Kafka counts milliseconds."""
    times = _int64(batch.timestamps).view(pa.timestamp("ms", tz="UTC"))
    try:
        return times.cast(pa.timestamp("us", tz="UTC"))
    except pa.ArrowInvalid:
        at = next(index for index, time in enumerate(batch.timestamps) if abs(time) > _LATEST)
        raise DamagedDataError(
            f"{batch.topic}-{batch.partition}@{batch.offsets[at]} has the timestamp {batch.timestamps[at]}, which in "
            f"milliseconds is later than Spark's last one: its producer has another unit; begin behind that record"
        ) from None


def _headers(rows: Sequence[Headers]) -> pa.Array:
    """The headers as Spark's source has them: null, not an empty list, for a record without headers."""
    flat = list(chain.from_iterable(rows))
    items = pa.StructArray.from_arrays(
        [pa.array([key for key, _ in flat], pa.string()), pa.array([value for _, value in flat], pa.binary())],
        fields=list(_HEADER),
    )
    edges: list[int | None] = []
    reached = 0
    for row in rows:
        # pyarrow makes a null list where an edge is null.
        edges.append(reached if row else None)
        reached += len(row)
    edges.append(reached)
    return pa.ListArray.from_arrays(pa.array(edges, pa.int32()), items, type=HEADERS)


def _joined(gathered: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return gathered[0] if len(gathered) == 1 else pa.concat_batches(gathered)
