"""The values that carry records: single records for connectors, batches of columns for every layer below them.

One call, one check and one encoding serve a whole batch: a Python object for each record costs more than sending it.
Timestamps are milliseconds since 1970; None asks for the producer's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from eosfw.data import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Headers",
    "LogBatch",
    "OffsetRange",
    "Primitive",
    "ProducerBatch",
    "ProducerRecord",
    "RecordMetadata",
    "SourceBatch",
    "SourceOffset",
    "SourcePartition",
    "SourceRecord",
    "StoredPartition",
]

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]
Primitive: TypeAlias = str | int | float | bool | None
SourcePartition: TypeAlias = Mapping[str, Primitive]
SourceOffset: TypeAlias = Mapping[str, Primitive]


class StoredPartition(dict[str, Primitive]):
    """A source partition that an offset store read from a topic, with the record keys that hold its offsets there.

    It equals a mapping with the same entries in another order. A store that gets it back writes under the same keys, so
    that compaction replaces the old offsets, whichever worker wrote them.
    """

    __slots__ = ("connector", "record_keys")

    def __init__(self, partition: SourcePartition, connector: str, record_keys: Sequence[bytes]) -> None:
        super().__init__(partition)
        self.connector = connector
        """The connector, which the record keys name."""
        self.record_keys = tuple(record_keys)
        """The key of the latest offset, then the keys of older ones."""


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One record of a source, with the offset from which its task resumes behind it (KIP-618)."""

    topic: str
    value: Any
    """Bytes, or what `value_schema` and the connector's `value.converter` take. None is a tombstone: in a compacted
    topic it deletes the key."""
    key: Any = None
    """Bytes or None, or what `key.converter` takes."""
    source_partition: SourcePartition = field(default_factory=dict)
    """The part of the source that the record is from; one task reads it."""
    source_offset: SourceOffset = field(default_factory=dict)
    """Where to resume after this record; `SourceTaskContext.offset` returns it once it is committed."""
    partition: int | None = None
    """The partition of the topic; with None the key decides, as in Java's partitioner (murmur2)."""
    timestamp: int | None = None
    """Milliseconds since 1970; None asks for the producer's clock."""
    headers: tuple[tuple[str, Any], ...] = ()
    """Names with bytes or None, or with what `header.converter` takes; `SchemaAndValue` states a schema."""
    key_schema: Schema | None = None
    """The schema of the key; None if it has none."""
    value_schema: Schema | None = None
    """The schema of the value; None if it has none."""


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """Records of one source partition for one topic, as columns, with the offset after the last of them.

    `keys`, `timestamps`, `source_offsets` and `headers` are None or as long as `values`. `source_offsets` (the offset
    after each record) is needed only when `SourceTaskContext.record_offsets` is true.
    """

    topic: str
    values: Sequence[Any] | pa.RecordBatch | pa.Array
    """Bytes or None, or what `value_schema` and the connector's `value.converter` take; or a `pyarrow.RecordBatch` or
    `pyarrow.Array`, one row for each record, whose schema is that of the values if `value_schema` is None."""
    source_partition: SourcePartition
    """The part of the source that all records are from."""
    source_offset: SourceOffset
    """Where to resume after the last record; a batch without values only moves the offset."""
    keys: Sequence[Any] | pa.RecordBatch | pa.Array | None = None
    timestamps: Sequence[int] | None = None
    """Milliseconds since 1970."""
    partition: int | None = None
    """The partition of the topic for all records; with None each key decides."""
    source_offsets: Sequence[SourceOffset] | None = None
    """Where to resume after each record."""
    headers: Sequence[tuple[tuple[str, Any], ...]] | None = None
    """The headers of each record."""
    key_schema: Schema | None = None
    """The schema of all keys."""
    value_schema: Schema | None = None
    """The schema of all values."""

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class ProducerRecord:
    """One record to send; without a partition its key decides, as in Java's partitioner (murmur2)."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp: int | None = None
    headers: Headers = ()


# Not frozen: one is made for each record that is sent singly, and a frozen one takes four times as long to make.
@dataclass(slots=True)
class ProducerBatch:
    """Records to send to one topic, as columns; `keys`, `timestamps` and `headers` are optional.

    A column that is given has one entry for each record. `key_schema` and `value_schema` are those of all its records,
    until they are converted to bytes. `headers` are sent at the speed of a batch only by a backend
    with the capability `batch_headers`. Nobody changes a batch once it is made.
    """

    topic: str
    values: Sequence[bytes | None]
    keys: Sequence[bytes | None] | None = None
    partition: int | None = None
    timestamps: Sequence[int] | None = None
    headers: Sequence[Headers] | None = None
    key_schema: Schema | None = None
    value_schema: Schema | None = None

    @classmethod
    def of_one(
        cls,
        record: ProducerRecord | SourceRecord,
        key_schema: Schema | None = None,
        value_schema: Schema | None = None,
    ) -> ProducerBatch:
        """A batch of one record; that of a source has schemas."""
        return cls(
            record.topic,
            (record.value,),
            None if record.key is None else (record.key,),
            record.partition,
            None if record.timestamp is None else (record.timestamp,),
            (record.headers,) if record.headers else None,
            key_schema,
            value_schema,
        )

    def __len__(self) -> int:
        return len(self.values)

    def records(self) -> Iterator[ProducerRecord]:
        """The records one by one, for code that takes no columns."""
        keys = repeat(None) if self.keys is None else self.keys
        stamps = repeat(None) if self.timestamps is None else self.timestamps
        headers: Iterable[Headers] = repeat(()) if self.headers is None else self.headers
        for value, key, stamp, pairs in zip(self.values, keys, stamps, headers, strict=False):
            yield ProducerRecord(self.topic, value, key, self.partition, stamp, pairs)


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """The place of a written record."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class LogBatch:
    """Records read from one partition, as columns of one length, offsets ascending.

    Offsets may have gaps: control records and records of aborted transactions have offsets, but are never shown.
    `timestamp_type` is 0 (create time) or 1 (log append time) for the whole batch; `headers` is None unless requested.
    """

    topic: str
    partition: int
    offsets: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    timestamps: Sequence[int]
    headers: Sequence[Headers] | None = None
    timestamp_type: int = 0

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets of one partition from `start` up to but not including `end`."""

    start: int
    end: int
