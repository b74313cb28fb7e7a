"""Compact a log segment by segment, oldest first. Kafka's `LogCleaner`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from eosfw_memory.storage.cleaner.log_cleaner import (
    AbortedBatches,
    Cleaner,
    CleaningContext,
    header_alone,
    latest_offsets,
)
from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.log.segment import Segment
from eosfw_memory.storage.records.batch import header_at

# Above every offset.
_EVERYTHING = 1 << 62


def compact(log: PartitionLog, now_ms: int) -> bool:
    """Clean a log if enough of it is dirty; tell whether that was so.

    Segments are replaced oldest first, and those that fit into one segment by a single one, as Kafka's cleaner does.
    Each replacement leaves a log that reads as before, so a crash between two of them does no harm.
    """
    ready = list(takewhile(lambda segment: _cleanable(log, segment, now_ms), log.rolled_segments()))
    dirty = [segment for segment in ready if segment.end_offset > log.first_dirty_offset]
    if not dirty or not (_due(log, dirty[0], now_ms) or _bytes(dirty) >= log.config.min_dirty_ratio * _bytes(ready)):
        return False
    entries = log.state.aborted.ended_in(0, _EVERYTHING)
    # An `AbortedBatches` forgets what lies behind it, so each of the two passes over the log needs its own.
    every = (batch for segment in dirty for batch in segment.batches())
    latest = latest_offsets(every, AbortedBatches(entries))
    context = CleaningContext(latest, log.producers(), now_ms, log.config.delete_retention_ms)
    cleaner = Cleaner(context, AbortedBatches(entries))
    if not log.first_dirty_offset:
        # First of all, so that no start takes the offsets that are missing from now on for lost ones.
        log.mark_cleaned(0)
    # Segments that were cleaned before are cleaned again: the dirty part may hold newer values of their keys.
    for group in _groups(ready, cleaner, log.config.segment_bytes):
        group.replace(log)
    # Last, so that a crash before it only means that the same segments are cleaned once more.
    log.mark_cleaned(ready[-1].end_offset)
    return True


def _cleanable(log: PartitionLog, segment: Segment, now_ms: int) -> bool:
    # Above the last stable offset nobody knows yet which records were aborted.
    lag = log.config.min_compaction_lag_ms
    return segment.end_offset <= log.last_stable_offset and (not lag or segment.max_timestamp <= now_ms - lag)


def _due(log: PartitionLog, segment: Segment, now_ms: int) -> bool:
    """Whether a record has waited for its compaction for as long as it may (KIP-354)."""
    # The largest timestamp of the first batch stands for all records, as in Kafka's `getFirstBatchTimestamp`.
    oldest = segment.newest[0] if len(segment) else now_ms
    return oldest < now_ms - log.config.max_compaction_lag_ms


@dataclass(slots=True)
class _SegmentGroup:
    """Segments that follow each other and become one, with the batches that stay of them."""

    segments: list[Segment]
    batches: list[bytes]
    gone: list[bytes]
    """The batches of which nothing stays."""
    last: bytes = b""
    size: int = 0
    """Bytes of what stays."""
    changed: bool = False

    def join(self, other: _SegmentGroup) -> None:
        """Add the segments that follow these."""
        self.segments += other.segments
        self.batches += other.batches
        self.gone += other.gone
        self.last, self.size, self.changed = other.last, self.size + other.size, True

    def replace(self, log: PartitionLog) -> None:
        """Replace these segments by one with the batches that stay; a single segment that loses nothing is kept.

        The new segment has to end where the next one begins; otherwise a missing file could not be told from a
        compacted one. So the header of the last batch stays even if none of its records does.
        """
        if self.gone and self.gone[-1] is self.last:
            kept = header_alone(self.gone.pop())
            self.changed = self.changed or bool(self.gone) or kept is not self.last
            self.batches.append(kept)
        if self.changed or self.gone:
            headers = (header_at(batch, 0) for batch in self.gone)
            log.replace_segments(self.segments, self.batches, {each.base_offset for each in headers if each.control})


def _groups(segments: Iterable[Segment], cleaner: Cleaner, most: int) -> Iterator[_SegmentGroup]:
    """Clean segments, and group neighbours of which at most `most` bytes stay together."""
    group: _SegmentGroup | None = None
    for segment in segments:
        cleaned = _cleaned(segment, cleaner)
        if group is not None and group.size + cleaned.size <= most:
            group.join(cleaned)
            continue
        if group is not None:
            yield group
        group = cleaned
    if group is not None:
        yield group


def _cleaned(segment: Segment, cleaner: Cleaner) -> _SegmentGroup:
    group = _SegmentGroup([segment], [], [])
    for batch in segment.batches():
        after = cleaner.clean(batch)
        group.last = batch
        if after is None:
            group.gone.append(batch)
        else:
            group.batches.append(after)
            group.size += len(after)
            group.changed = group.changed or after is not batch
    return group


def _bytes(segments: Iterable[Segment]) -> int:
    return sum(segment.size for segment in segments)
