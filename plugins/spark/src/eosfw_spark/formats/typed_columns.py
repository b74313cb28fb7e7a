"""The replacement of the bytes of keys and values by typed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol

import pyarrow as pa
from pyspark.sql.types import BinaryType, StructField, StructType

from eosfw.errors import DamagedDataError
from eosfw_spark.formats.deserializers import Deserializer
from eosfw_spark.formats.spark_types import spark_type
from eosfw_spark.formats.undecodable import UndecodableError

CORRUPT_RECORD: Final = "_corrupt_record"


class ParseMode(Enum):
    """What becomes of a record that does not decode (Spark's `ParseMode`)."""

    FAILFAST = "FAILFAST"
    PERMISSIVE = "PERMISSIVE"
    DROPMALFORMED = "DROPMALFORMED"


class Format(Protocol):
    """What a column is decoded by; Spark ships it to tasks."""

    @property
    def type(self) -> pa.DataType:
        """The Arrow type of the column."""

    def deserializer(self) -> Deserializer:
        """Make what decodes it in this process."""


@dataclass(frozen=True, slots=True)
class TypedColumns:
    """The formats of `key` and `value`, those that have one."""

    formats: Mapping[str, Format]
    mode: ParseMode = ParseMode.FAILFAST
    corrupt_record: str = CORRUPT_RECORD
    """The column for the bytes of values that do not decode; those of keys have another one, behind `_key`."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """The names of typed columns that stand beside the bytes, not in their place."""

    def corrupt_columns(self) -> Mapping[str, str]:
        """The columns for bytes that do not decode, by the column which they stand for."""
        if self.mode is not ParseMode.PERMISSIVE:
            return {}
        names = {"value": self.corrupt_record, "key": f"{self.corrupt_record}_key"}
        return {each: names[each] for each in ("value", "key") if each in self.formats}

    def spark_schema(self, plain: StructType) -> StructType:
        """The columns of a read, of those that it has without formats."""
        typed = {
            name: StructField(self.beside.get(name, name), spark_type(each.type)) for name, each in self.formats.items()
        }
        inside = [each if each.name in self.beside else typed.get(each.name, each) for each in plain]
        corrupt = [StructField(name, BinaryType()) for name in self.corrupt_columns().values()]
        return StructType(inside + [typed[each] for each in self.beside] + corrupt)


class RecordDecoder:
    """Decodes batches of records in one process."""

    def __init__(self, typed: TypedColumns) -> None:
        self._typed = typed
        self._deserializers = {name: each.deserializer() for name, each in typed.formats.items()}

    def decode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with typed columns; DamagedDataError names a record that does not decode in mode FAILFAST."""
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        corrupt = self._typed.corrupt_columns()
        dropped: set[int] = set()
        for name, deserializer in self._deserializers.items():
            data = columns[name]
            columns[self._typed.beside.get(name, name)], failures = decode_column(data, deserializer)
            if failures and self._typed.mode is ParseMode.FAILFAST:
                raise _failure(batch, name, failures)
            dropped.update(failures)
            if name in corrupt:
                columns[corrupt[name]] = _only(data, failures)
        ordered = [*batch.schema.names, *self._typed.beside.values(), *corrupt.values()]
        decoded = pa.RecordBatch.from_arrays([columns[each] for each in ordered], ordered)
        if dropped and self._typed.mode is ParseMode.DROPMALFORMED:
            return decoded.take(pa.array([row for row in range(len(decoded)) if row not in dropped], pa.int64()))
        return decoded


def decode_column(data: pa.Array, deserializer: Deserializer) -> tuple[pa.Array, Mapping[int, UndecodableError]]:
    """The values of a column, null where one does not decode, and the reasons by row."""
    if (whole := deserializer.deserialize_column(data)) is not None:
        return whole, {}
    values: list[Any] = []
    failures: dict[int, UndecodableError] = {}
    for row, each in enumerate(data.to_pylist()):
        try:
            values.append(None if each is None else deserializer.deserialize(each))
        except UndecodableError as why:
            values.append(None)
            failures[row] = why
    try:
        return pa.array(values, deserializer.type), failures
    except _UNFIT:
        return _value_by_value(values, deserializer.type, failures)


_UNFIT: Final = (pa.ArrowException, ValueError, TypeError, OverflowError)
"""What pyarrow raises for a value that its type cannot hold."""


def _value_by_value(
    values: Sequence[Any], wanted: pa.DataType, failures: dict[int, UndecodableError]
) -> tuple[pa.Array, Mapping[int, UndecodableError]]:
    fitting = list(values)
    for row, value in enumerate(values):
        try:
            pa.array([value], wanted)
        except _UNFIT:
            fitting[row] = None
            failures[row] = UndecodableError("a value does not fit the type of its column")
    return pa.array(fitting, wanted), failures


def _only(data: pa.Array, failures: Mapping[int, object]) -> pa.Array:
    """The bytes of rows that failed, null elsewhere."""
    if not failures:
        return pa.nulls(len(data), pa.binary())
    return data.take(pa.array([row if row in failures else None for row in range(len(data))], pa.int64()))


def _failure(batch: pa.RecordBatch, column: str, failures: Mapping[int, UndecodableError]) -> DamagedDataError:
    row, why = min(failures.items())
    topic, partition, offset = (batch.column(each)[row].as_py() for each in ("topic", "partition", "offset"))
    return DamagedDataError(
        f"the {column} of {topic}-{partition} at offset {offset} does not decode: {why}; to read on, give mode "
        "PERMISSIVE, which keeps its bytes in a column, or DROPMALFORMED, which leaves the record out"
    )
