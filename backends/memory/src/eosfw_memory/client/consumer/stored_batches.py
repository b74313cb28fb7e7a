"""The batches of a fetch as the broker stores them: their headers alone, of control batches, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eosfw.test_support import StoredBatch
from eosfw_memory.client.consumer.fetched_records import FetchedBatches, fetched_batches, transaction_result
from eosfw_memory.storage.records.batch import BatchHeader, Buffer


def stored_batches(fetched: Mapping[str, Any], position: int, end: int) -> FetchedBatches[StoredBatch]:
    """The batches of a fetch that have an offset from `position` up to `end`."""
    found: list[StoredBatch] = []
    for header, batch in fetched_batches(fetched):
        if header.last_offset < position:
            continue
        if position >= end:
            break
        found.append(_stored(header, batch))
        position = header.last_offset + 1
    return FetchedBatches(found, position)


def _stored(header: BatchHeader, batch: Buffer) -> StoredBatch:
    result = transaction_result(batch, header) if header.control else None
    return StoredBatch(
        header.base_offset,
        header.last_offset,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.transactional,
        "" if not header.control else "other" if result is None else result.name.lower(),
    )
