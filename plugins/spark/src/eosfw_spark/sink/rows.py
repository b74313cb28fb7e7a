"""The conversion of rows with the columns of Spark's Kafka sink to batches of records (Spark's `KafkaWriter`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw.records import Headers, ProducerBatch
from eosfw_spark.source.columns import HEADERS

_SENT: Final[Mapping[str, pa.DataType]] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "headers": HEADERS,
    "timestamp": pa.int64(),
}
"""The columns that are sent, as they are staged and hashed: text as bytes, timestamps in milliseconds."""
_TAKEN: Final[Mapping[str, tuple[type[DataType], ...]]] = {
    "key": (StringType, BinaryType),
    "value": (StringType, BinaryType),
    "topic": (StringType,),
    "partition": (IntegerType,),
    "timestamp": (TimestampType, LongType),
}
_PARTITIONS: Final = 1 << 32
"""More than there are partitions of a topic, so that a topic's number and a partition's fit into one."""


SinkColumns = Mapping[str, int]
"""The columns of a DataFrame that are sent, by their index; others are left out, as Spark's sink does."""


def sink_columns(schema: StructType, topic: str | None, *, headers: bool = True) -> SinkColumns:
    """Check the columns of a DataFrame; ConfigError lists everything that is wrong with them.

    A topic from the options wins over the column `topic`.
    """
    names = [name for name in _SENT if name in schema.names and _is_sent(name, topic, headers=headers)]
    problems = [Problem("", _wrong_type(schema[name])) for name in names if not _fits(schema[name])]
    if "value" not in names:
        problems.append(Problem("", f"the DataFrame has no column value; it has: {', '.join(schema.names)}"))
    if topic is None and "topic" not in names:
        problems.append(Problem("", "no topic: set the option topic, or give the DataFrame a column topic"))
    if problems:
        raise ConfigError(*problems)
    return {name: schema.names.index(name) for name in names}


def _is_sent(name: str, topic: str | None, *, headers: bool) -> bool:
    return not (name == "topic" and topic is not None) and (headers or name != "headers")


def _fits(field: StructField) -> bool:
    if field.name != "headers":
        return isinstance(field.dataType, _TAKEN[field.name])
    items = field.dataType.elementType if isinstance(field.dataType, ArrayType) else None
    if not isinstance(items, StructType):
        return False
    return [(each.name, type(each.dataType)) for each in items] == [("key", StringType), ("value", BinaryType)]


def _wrong_type(field: StructField) -> str:
    if field.name == "headers":
        wanted = "array<struct<key:string,value:binary>>"
    else:
        wanted = " or ".join(each.typeName() for each in _TAKEN[field.name])
    return f"the column {field.name} has the type {field.dataType.simpleString()}, it must be {wanted}"


def sent_batch(batch: pa.RecordBatch, columns: SinkColumns) -> pa.RecordBatch:
    """The rows that are sent, of one Arrow batch of the DataFrame; DamagedDataError for a row that cannot be sent."""
    found = {name: _cast(batch.column(at), _SENT[name]) for name, at in columns.items()}
    for name, array in found.items():
        if problem := _problem(name, array):
            raise DamagedDataError(problem)
    return pa.RecordBatch.from_arrays(list(found.values()), schema=pa.schema([(name, _SENT[name]) for name in found]))


def _cast(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(array.type):
        # Kafka counts milliseconds; the microseconds of Spark are cut off.
        return array.cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(wanted)
    return array.cast(wanted)


def _problem(name: str, array: pa.Array) -> str | None:
    """Why a row cannot be sent, by one of its columns."""
    if name == "topic" and array.null_count:
        return "a row has no topic; set the option topic, or fill the column topic"
    if name == "headers" and array.flatten().flatten()[0].null_count:
        return "a row has a header without a key"
    least = pc.min(array).as_py() if name in ("partition", "timestamp") else None
    if least is not None and least < 0:
        return f"a row has the {name} {least}; it must be 0 or more, or null"
    return None


def producer_batches(sent: pa.RecordBatch, topic: str | None, now: int) -> Iterator[ProducerBatch]:
    """One batch of records for each topic and partition, rows of the same partition in their order.

    `topic` is that of the options; None if the column says it. `now` is the timestamp of rows that have none, in
    milliseconds.
    """
    for same in _by_destination(sent):
        topics, partitions = _column(same, "topic"), _column(same, "partition")
        yield ProducerBatch(
            topic or topics[0].as_py(),
            same.column("value").to_pylist(),
            _optional(_column(same, "key")),
            None if partitions is None else partitions[0].as_py(),
            _timestamps(_column(same, "timestamp"), now),
            _headers(_column(same, "headers")),
        )


def _column(batch: pa.RecordBatch, name: str) -> Any:
    return batch.column(name) if name in batch.schema.names else None


def _by_destination(sent: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    codes = _destinations(sent)
    if sent.num_rows == 0:
        return
    if codes is None or pc.min(codes) == pc.max(codes):
        yield sent
        return
    # The sort is stable, so rows of one partition keep their order.
    order = pc.sort_indices(codes)
    runs = pc.run_end_encode(codes.take(order))
    ordered = sent.take(order)
    for start, end in pairwise([0, *runs.run_ends.to_pylist()]):
        yield ordered.slice(start, end - start)


def _destinations(sent: pa.RecordBatch) -> pa.Array | None:
    """A number for each row's topic and partition; None if no column says either."""
    topics, partitions = _column(sent, "topic"), _column(sent, "partition")
    if topics is None and partitions is None:
        return None
    codes = pa.repeat(pa.scalar(0, pa.int64()), sent.num_rows)
    if topics is not None:
        codes = pc.multiply(topics.dictionary_encode().indices.cast(pa.int64()), _PARTITIONS)
    return codes if partitions is None else pc.add(codes, pc.fill_null(partitions, -1).cast(pa.int64()))


def _optional(array: pa.Array | None) -> list[Any] | None:
    return None if array is None or array.null_count == len(array) else array.to_pylist()


def _timestamps(array: pa.Array | None, now: int) -> list[int] | None:
    return None if array is None or array.null_count == len(array) else array.fill_null(now).to_pylist()


def _headers(array: pa.Array | None) -> Sequence[Headers] | None:
    if array is None or not len(items := array.flatten()):
        return None
    keys, values = items.flatten()
    pairs = tuple(zip(keys.to_pylist(), values.to_pylist(), strict=True))
    edges = accumulate(pc.fill_null(pc.list_value_length(array), 0).to_pylist(), initial=0)
    return [pairs[start:end] for start, end in pairwise(edges)]
