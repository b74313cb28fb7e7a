"""Write a batch again with some of its records, at the same offsets, of the same producer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eosfw_memory.storage.records.batch import BatchHeader, TimestampType, rebuilt
from eosfw_memory.storage.records.codec import RecordColumns
from eosfw_memory.storage.records.headers import NO_HEADERS, NULL, encoded_alone
from eosfw_memory.storage.records.varints import VARINT


def rewritten(header: BatchHeader, columns: RecordColumns, kept: Sequence[int], horizon_ms: int | None) -> bytes:
    """The batch with the records of these positions, uncompressed; without any it still holds a sequence number.

    With `horizon_ms`, tombstones in it may go from then on (KIP-534: it takes the place of the base timestamp).
    """
    base = header.base_timestamp if horizon_ms is None else horizon_ms
    newest = header.max_timestamp
    # With LogAppendTime the largest timestamp is that of every record, hence it stays.
    if kept and header.timestamp_type is TimestampType.CREATE_TIME:
        newest = max(columns.timestamps[at] for at in kept)
    records = b"".join(_records(header, columns, kept, base))
    return rebuilt(header, records, len(kept), base, newest, horizon=horizon_ms is not None)


def _records(header: BatchHeader, columns: RecordColumns, kept: Sequence[int], base: int) -> Iterator[bytes]:
    for at in kept:
        time = VARINT[columns.timestamps[at] - base]
        headers = columns.headers[at] if columns.headers else ()
        body = b"".join(
            (
                b"\0",
                time,
                VARINT[columns.offsets[at] - header.base_offset],
                _text(columns.keys[at]),
                _text(columns.values[at]),
                encoded_alone(headers) if headers else NO_HEADERS,
            )
        )
        yield VARINT[len(body)]
        yield body


def _text(value: bytes | None) -> bytes:
    return NULL if value is None else VARINT[len(value)] + value
