"""Records as batches, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import groupby
from typing import Any

from eosfw.records import ProducerBatch, SourceRecord
from pytest_eos.contracts.records.samples import forms

__all__ = ["batches_of", "copied", "copies", "records_of"]


def copies(records: Sequence[SourceRecord]) -> Iterator[SourceRecord]:
    """A copy of each record: a part that changes what it is given hides it from no later test."""
    return map(copied, records)


def batches_of(records: Sequence[SourceRecord]) -> Iterator[tuple[list[SourceRecord], ProducerBatch]]:
    """Copies of records of one kind in a row, with each batch that may hold them."""
    for _, group in groupby(copies(records), _kind):
        members = list(group)
        for batch in _batches(members):
            yield members, batch


def _kind(record: SourceRecord) -> tuple[Any, ...]:
    """What the records of a batch have in common."""
    return (
        record.topic,
        record.partition,
        record.key_schema,
        record.value_schema,
        record.key is None,
        record.timestamp is None,
        not record.headers,
    )


def _batches(records: Sequence[SourceRecord]) -> Iterator[ProducerBatch]:
    first = records[0]
    keys = None if first.key is None else [one.key for one in records]
    made = ProducerBatch(
        first.topic,
        [one.value for one in records],
        keys,
        first.partition,
        None if first.timestamp is None else [one.timestamp or 0 for one in records],
        [one.headers for one in records] if first.headers else None,
        first.key_schema,
        first.value_schema,
    )
    for values in forms(first.value_schema, made.values):
        for column in [None] if keys is None else forms(first.key_schema, keys):
            yield replace(made, values=values, keys=column)


def records_of(batch: ProducerBatch) -> list[SourceRecord]:
    """The records of a batch."""
    return [
        SourceRecord(
            one.topic,
            one.value,
            one.key,
            partition=one.partition,
            timestamp=one.timestamp,
            headers=one.headers,
            key_schema=batch.key_schema,
            value_schema=batch.value_schema,
        )
        for one in batch.records()
    ]


def copied(record: SourceRecord) -> SourceRecord:
    """A record whose parts are other objects; schemas never change."""
    return replace(
        record,
        value=deepcopy(record.value),
        key=deepcopy(record.key),
        source_partition=deepcopy(record.source_partition),
        source_offset=deepcopy(record.source_offset),
    )
