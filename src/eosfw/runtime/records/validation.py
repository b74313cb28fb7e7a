"""Validate the records and batches that a connector returned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from math import isfinite
from typing import Any

from eosfw.data import is_arrow
from eosfw.records import ProducerBatch, SourceBatch, SourceOffset, SourceRecord
from eosfw.text import type_name

_SENDABLE = frozenset((bytes, type(None)))
# Without float, which may be infinite or not a number: JSON has neither, so those are looked at one by one.
_EXACT = frozenset((str, int, bool, type(None)))
_PRIMITIVE = (str, int, float, bool, type(None))
_LAST_PARTITION = 2**31 - 1
_LAST_TIMESTAMP = 2**63 - 1


def all_valid(records: Sequence[Any], *, any_data: bool = False) -> bool:
    """Whether many records are valid, checked in one pass without a call for each record.

    False does not mean that one is invalid: only `validation_error` checks every kind of record. With `any_data` keys,
    values and headers may be anything, since they are converted later.
    """
    sources, offsets = {}, []
    for one in records:
        if type(one) is not SourceRecord:
            return False
        if not (any_data or (type(one.value) in _SENDABLE and type(one.key) in _SENDABLE)):
            return False
        if not (one.topic and type(one.topic) is str and one.partition is one.timestamp is None and not one.headers):
            return False
        sources[id(one.source_partition)] = one.source_partition  # mostly one object for all records
        offsets.append(one.source_offset)
    return _flat(offsets) and _flat(sources.values())


def _flat(mappings: Collection[Any]) -> bool:
    return (
        set(map(type, mappings)) == {dict}
        and set(map(type, chain.from_iterable(mappings))) <= {str}
        and set(map(type, chain.from_iterable(map(dict.values, mappings)))) <= _EXACT
    )


def columns_error(columns: ProducerBatch) -> str | None:
    """Why records that transformations made cannot be sent; None if they can."""
    if not isinstance(columns.topic, str) or not columns.topic:
        return f"names no topic ({columns.topic!r})"
    headers = map(_header_error, columns.headers or ())
    return (
        _partition_error(columns.partition)
        or _timestamp_error(columns.timestamps or ())
        or next(filter(None, headers), None)
    )


def validation_error(item: SourceRecord | SourceBatch, *, any_data: bool = False) -> str | None:
    """Why an item cannot be sent, as the rest of a sentence about it; None if it can."""
    if not isinstance(item.topic, str) or not item.topic:
        return f"names no topic ({item.topic!r})"
    if error := _partition_error(item.partition):
        return error
    where = _mapping_error("source partition", item.source_partition) or _mapping_error(
        "source offset", item.source_offset
    )
    if isinstance(item, SourceRecord):
        return where or _record_error(item, any_data=any_data)
    return where or _batch_error(item, any_data=any_data)


def _partition_error(partition: Any) -> str | None:
    if partition is None or _within(partition, _LAST_PARTITION):
        return None
    return f"names partition {partition!r}; it must be None or a number from 0 to {_LAST_PARTITION}"


def _record_error(record: SourceRecord, *, any_data: bool) -> str | None:
    if record.timestamp is not None and (error := _timestamp_error((record.timestamp,))):
        return error
    data = None if any_data else _kind_error((type(record.value),), (type(record.key),))
    return data or _header_error(record.headers, any_data=any_data)


def _batch_error(batch: SourceBatch, *, any_data: bool) -> str | None:
    for name in ("values", "keys"):
        if _iterates_over_other_things(column := getattr(batch, name)):
            kind = f"{type(column).__module__.partition('.')[0]}.{type(column).__name__}".removeprefix("builtins.")
            return f"has a {kind} as {name}; it must be a list, a pyarrow.Array or a pyarrow.RecordBatch"
    for name in ("keys", "timestamps", "source_offsets", "headers"):
        column = getattr(batch, name)
        if column is not None and len(column) != len(batch):
            return f"has {len(batch)} values, yet {len(column)} {name}"
    return (
        _arrow_error(one for one in (batch.values, batch.keys) if is_arrow(one))
        or _offsets_error(batch.source_offsets or ())
        or (None if any_data else _kind_error(_kinds(batch.values), _kinds(batch.keys)))
        or _timestamp_error(batch.timestamps or ())
        or next(filter(None, (_header_error(each, any_data=any_data) for each in batch.headers or ())), None)
    )


def _iterates_over_other_things(column: Any) -> bool:
    """Whether a column gives something else than its records, such as the names of the columns of a DataFrame."""
    return isinstance(column, str | bytes | Mapping | AbstractSet) or getattr(column, "ndim", 1) != 1


def _arrow_error(columns: Iterable[Any]) -> str | None:
    """Refuse what Arrow has beside record batches and arrays, such as tables, whose columns are in pieces."""
    for column in columns:
        kind = type(column).__name__
        if kind != "RecordBatch" and (kind == "ChunkedArray" or not kind.endswith("Array")):
            return f"has a pyarrow.{kind} as keys or values; it must be a pyarrow.RecordBatch or pyarrow.Array"
    return None


def _kinds(column: Any) -> set[type]:
    """The types of what a column holds; of one of Arrow, that of the column."""
    return {type(column)} if is_arrow(column) else {*map(type, column or ())}


def _offsets_error(offsets: Sequence[SourceOffset]) -> str | None:
    if not offsets or _flat(offsets):
        return None
    for index, offset in enumerate(offsets):
        if error := _mapping_error("source offset", offset):
            return f"{error} (record {index} of it)"
    return None


def _mapping_error(what: str, values: Any) -> str | None:
    """Check a source partition or offset: a flat mapping of texts to primitives (OFF-01)."""
    why = _reason_unstorable(values)
    return None if why is None else f"has a {what} that cannot be stored: {why}"


def _reason_unstorable(values: Any) -> str | None:
    if not isinstance(values, Mapping):
        return f"{values!r:.80} is no mapping"
    for key, value in values.items():
        if not isinstance(key, str):
            return f"the key {key!r:.80} is no text"
        if not isinstance(value, _PRIMITIVE):
            return f"{key!r} is a {type_name(value)}; only text, numbers, booleans, None can be kept"
        if isinstance(value, float) and not isfinite(value):
            return f"{key!r} is {value}, which JSON cannot hold"
    return None


_CONVERTERS = {"str": "string", "StringArray": "string", "BinaryArray": "bytes"}
"""The converters that write these as they are; `json` takes anything."""


def _kind_error(values: Iterable[type], keys: Iterable[type]) -> str | None:
    for part, kinds in (("value", values), ("key", keys)):
        for kind in kinds:
            if kind not in _SENDABLE and not issubclass(kind, bytes):
                converter = _CONVERTERS.get(kind.__name__, "json")
                return (
                    f"holds a {kind.__name__} as {part}; only bytes and None can be sent: choose a converter, such as "
                    f"{part}.converter={converter}"
                )
    return None


def _timestamp_error(stamps: Collection[Any]) -> str | None:
    for stamp in stamps:
        if not _within(stamp, _LAST_TIMESTAMP):
            return f"has the timestamp {stamp!r:.80}; it must be milliseconds since 1970, not below 0"
    return None


def _header_error(headers: Any, *, any_data: bool = False) -> str | None:
    for header in headers or ():
        match header:
            case (str(), bytes() | None):
                continue
            case (str(), _) if any_data:
                continue
            case _:
                kinds = "anything" if any_data else "bytes or None; with a header.converter, with anything"
                return f"has the header {header!r:.80}; it must be a text with {kinds}"
    return None


def _within(number: Any, last: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= last
