"""Records of a batch changed one by one, so that each that cannot be changed is found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from eosfw.records import ProducerRecord, SourceRecord
from eosfw.runtime.records.retry_with_tolerance import RecordSkippedError
from eosfw.state.tasks.poll_batch import PollBatch, changed_columns

Parts = tuple[Any, Any, Any]
"""The headers, the key and the value of a record."""


def changed_one_by_one(batch: PollBatch, change: Callable[[ProducerRecord, SourceRecord], Parts]) -> PollBatch:
    """A batch with what `change` makes of each record, as it is sent and as poll returned it.

    Those for which it raises RecordSkippedError are dropped; their source offsets commit all the same.
    """
    columns, polled = batch.columns, list(batch.records())
    places = range(len(columns)) if batch.kept is None else batch.kept
    rows: dict[int, Parts] = {}
    for at, record in enumerate(columns.records()):
        with suppress(RecordSkippedError):
            rows[at] = change(record, polled[places[at]])
    headers, keys, values = map(list, zip(*rows.values(), strict=True)) if rows else ([], [], [])
    left = changed_columns(columns, lambda column: [column[at] for at in rows])
    changed = replace(
        left,
        values=values,
        keys=None if columns.keys is None else keys,
        headers=None if columns.headers is None else headers,
    )
    return batch.with_columns(changed, [places[at] for at in rows])
