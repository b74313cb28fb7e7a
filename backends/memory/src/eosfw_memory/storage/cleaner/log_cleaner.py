"""Decide what of a compacted log stays: the latest record of each key, nothing aborted (BRK-09).

A marker stays as long as a batch of its transaction does, then for another `delete.retention.ms`, so that every reader
of the data also reads how the transaction ended. One `Cleaner` gets the batches of the whole log in order, since a
transaction may span segments, and its batches must not be forgotten between them (KAFKA-8351, KAFKA-13727). Keys of
markers are never compared with those of records (KAFKA-14055).
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eosfw_memory.storage.log.producer_state import ProducerStateEntry
from eosfw_memory.storage.log.transaction_index import AbortedTxn
from eosfw_memory.storage.records.batch import NO_PRODUCER_ID, BatchHeader, header_at
from eosfw_memory.storage.records.batch_rewrite import rewritten
from eosfw_memory.storage.records.codec import RecordColumns, decode_records


class AbortedBatches:
    """Finds out of batches, asked for in order, whether their transactions were aborted."""

    def __init__(self, entries: Iterable[AbortedTxn]) -> None:
        self._spans: defaultdict[int, deque[tuple[int, int]]] = defaultdict(deque)
        for entry in entries:
            self._spans[entry.producer_id].append((entry.first_offset, entry.marker_offset))

    def holds(self, header: BatchHeader) -> bool:
        """Whether a data batch lies in an aborted transaction."""
        spans = self._spans.get(header.producer_id) if header.transactional else None
        while spans and spans[0][1] < header.base_offset:
            spans.popleft()
        # Batches are asked for in order, so a transaction whose marker lies before this one is never needed again.
        return bool(spans) and spans[0][0] <= header.base_offset  # type: ignore[index]


def latest_offsets(batches: Iterable[bytes], aborted: AbortedBatches) -> dict[bytes, int]:
    """The offset of the latest record of each key that is neither aborted nor a marker."""
    latest: dict[bytes, int] = {}
    for batch in batches:
        header = header_at(batch, 0)
        if header.control or aborted.holds(header):
            continue
        columns = decode_records(batch, header)
        latest.update(
            (key, offset) for key, offset in zip(columns.keys, columns.offsets, strict=True) if key is not None
        )
    return latest


@dataclass(frozen=True, slots=True)
class CleaningContext:
    """What the decision about a batch depends on besides its bytes."""

    latest: Mapping[bytes, int]
    """Of the keys in the part of the log that is cleaned for the first time."""
    producers: Mapping[int, ProducerStateEntry]
    """The producers that may write again."""
    now_ms: int
    delete_retention_ms: int


class Cleaner:
    """Cleans the batches of one log, first to last.

    The `Cleaner` of Kafka's `LogCleaner`.
    """

    def __init__(self, context: CleaningContext, aborted: AbortedBatches) -> None:
        self._context = context
        self._aborted = aborted
        self._with_data: set[int] = set()
        """The producers of whose current transaction a batch was seen."""

    def clean(self, batch: bytes) -> bytes | None:
        """The batch with the records that stay, or None if the whole batch goes."""
        header = header_at(batch, 0)
        if header.control:
            return self._marker(header, batch)
        if header.transactional:
            # Even if this pass removes the batch: the time of its marker begins with a later pass.
            self._with_data.add(header.producer_id)
        columns = decode_records(batch, header)
        kept = [] if self._aborted.holds(header) else self._kept(header, columns)
        if not kept and not self._last_of_producer(header):
            return None
        horizon = self._horizon(header, columns, kept)
        if len(kept) == len(columns) and horizon == header.horizon_ms:
            return batch
        return rewritten(header, columns, kept, horizon)

    def _kept(self, header: BatchHeader, columns: RecordColumns) -> list[int]:
        # `latest` covers only the part that was never cleaned; a key that is absent there keeps its record.
        latest, expired = self._context.latest, self._expired(header)
        kept: list[int] = []
        for at, (key, offset) in enumerate(zip(columns.keys, columns.offsets, strict=True)):
            expired_tombstone = expired and columns.values[at] is None
            if key is not None and latest.get(key, -1) <= offset and not expired_tombstone:
                kept.append(at)
        return kept

    def _horizon(self, header: BatchHeader, columns: RecordColumns, kept: list[int]) -> int | None:
        if header.horizon_ms is not None or all(columns.values[at] is not None for at in kept):
            return header.horizon_ms
        return self._context.now_ms + self._context.delete_retention_ms

    def _expired(self, header: BatchHeader) -> bool:
        return header.horizon_ms is not None and header.horizon_ms < self._context.now_ms

    def _last_of_producer(self, header: BatchHeader) -> bool:
        """Whether only this batch says which sequence number its producer goes on with."""
        state = self._context.producers.get(header.producer_id) if header.producer_id != NO_PRODUCER_ID else None
        if state is None:
            return False
        if header.control:
            return not state.batches and header.producer_epoch == state.epoch
        return bool(state.batches) and state.batches[-1].last_offset == header.last_offset

    def _marker(self, header: BatchHeader, batch: bytes) -> bytes | None:
        needed = header.producer_id in self._with_data
        self._with_data.discard(header.producer_id)
        if needed:
            return batch
        # KIP-534: the first pass that finds no data of the transaction notes in the batch until when the marker stays.
        if header.horizon_ms is None:
            columns = decode_records(batch, header)
            horizon = self._context.now_ms + self._context.delete_retention_ms
            return rewritten(header, columns, range(len(columns)), horizon)
        return None if self._expired(header) and not self._last_of_producer(header) else batch


def header_alone(batch: bytes) -> bytes:
    """The least that keeps the offsets of a batch in the log: its header, or the marker that it is."""
    header = header_at(batch, 0)
    columns = None if header.control else decode_records(batch, header)
    return rewritten(header, columns, (), header.horizon_ms) if columns else batch
