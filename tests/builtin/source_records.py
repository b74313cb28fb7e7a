"""The records of a batch one by one, to compare what transformations make of them."""

from __future__ import annotations

from eosfw.records import ProducerBatch, SourceRecord


def source_records(batch: ProducerBatch) -> list[SourceRecord]:
    """The records of a batch, with its schemas."""
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
