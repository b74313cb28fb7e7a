"""Look after a log: compact it, drop its old segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from eosfw_memory.log.log_cleaner import AbortedBatches, Cleaner, CleaningContext, latest_offsets, place_of
from eosfw_memory.log.partition_log import PartitionLog
from eosfw_memory.log.segment import Segment
from eosfw_memory.records.batch import header_at

_EVERYTHING = 1 << 62


def compact(log: PartitionLog, now_ms: int) -> bool:
    """Clean a log if enough of it is dirty; tell whether anything was done.

    Segments are replaced oldest first, those that fit into one segment by a single one, as Kafka's cleaner does;
    wherever that stops the log is as good as before.
    """
    ready = list(takewhile(lambda segment: _cleanable(log, segment, now_ms), log.rolled_segments()))
    dirty = [segment for segment in ready if segment.end_offset > log.first_dirty_offset]
    if not dirty or not (_due(log, dirty[0], now_ms) or _bytes(dirty) >= log.config.min_dirty_ratio * _bytes(ready)):
        return False
    entries = log.state.aborted.ended_in(0, _EVERYTHING)
    every = (batch for segment in dirty for batch in segment.batches())
    latest = latest_offsets(every, AbortedBatches(entries))
    facts = CleaningContext(latest, log.producers(), now_ms, log.config.delete_retention_ms)
    cleaner = Cleaner(facts, AbortedBatches(entries))
    for run in _runs(ready, cleaner, log.config.segment_bytes):
        run.replace(log)
    log.mark_cleaned(ready[-1].end_offset)
    return True


def retain(log: PartitionLog, now_ms: int) -> int:
    """Drop the segments that nobody can read, or is to read, any more; tell how many. The active one stays."""
    dropped = 0
    for segment in list(log.rolled_segments()):
        if segment.end_offset > log.last_stable_offset or not _droppable(log, segment, now_ms):
            break
        log.delete_oldest_segment()
        dropped += 1
    return dropped


def _cleanable(log: PartitionLog, segment: Segment, now_ms: int) -> bool:
    lag = log.config.min_compaction_lag_ms
    return segment.end_offset <= log.last_stable_offset and (not lag or segment.max_timestamp <= now_ms - lag)


def _due(log: PartitionLog, segment: Segment, now_ms: int) -> bool:
    """Whether a record has waited for its compaction for as long as it may (KIP-354)."""
    oldest = segment.newest[0] if len(segment) else now_ms
    return oldest < now_ms - log.config.max_compaction_lag_ms


@dataclass(slots=True)
class _Run:
    """Segments that follow each other, with what stays of their batches."""

    segments: list[Segment]
    batches: list[bytes]
    gone: list[bytes]
    """The batches of which nothing stays."""
    last: bytes = b""
    size: int = 0
    """Bytes of what stays."""
    changed: bool = False

    def join(self, other: _Run) -> None:
        """Go on with the segments behind these."""
        self.segments += other.segments
        self.batches += other.batches
        self.gone += other.gone
        self.last, self.size, self.changed = other.last, self.size + other.size, True

    def replace(self, log: PartitionLog) -> None:
        """Write one segment in the place of these, unless it is the only one and stays as it is.

        It ends where the next one begins, so the place of its last batch stays: else a file that is missing could not
        be told from one that was compacted.
        """
        if self.gone and self.gone[-1] is self.last:
            place = place_of(self.gone.pop())
            self.changed = self.changed or bool(self.gone) or place is not self.last
            self.batches.append(place)
        if self.changed or self.gone:
            headers = (header_at(batch, 0) for batch in self.gone)
            log.replace_segments(self.segments, self.batches, {each.base_offset for each in headers if each.control})


def _runs(segments: Iterable[Segment], cleaner: Cleaner, most: int) -> Iterator[_Run]:
    """Clean segments, those together that make no more than so many bytes."""
    run: _Run | None = None
    for segment in segments:
        cleaned = _cleaned(segment, cleaner)
        if run is not None and run.size + cleaned.size <= most:
            run.join(cleaned)
            continue
        if run is not None:
            yield run
        run = cleaned
    if run is not None:
        yield run


def _cleaned(segment: Segment, cleaner: Cleaner) -> _Run:
    run = _Run([segment], [], [])
    for batch in segment.batches():
        after = cleaner.clean(batch)
        run.last = batch
        if after is None:
            run.gone.append(batch)
        else:
            run.batches.append(after)
            run.size += len(after)
            run.changed = run.changed or after is not batch
    return run


def _droppable(log: PartitionLog, segment: Segment, now_ms: int) -> bool:
    if segment.end_offset <= log.log_start_offset:
        return True
    rules = log.config
    too_old = rules.retention_ms >= 0 and now_ms - segment.max_timestamp > rules.retention_ms
    too_much = 0 <= rules.retention_bytes <= log.size - segment.size
    return rules.deleted and (too_old or too_much)


def _bytes(segments: Iterable[Segment]) -> int:
    return sum(segment.size for segment in segments)
