"""Look after a log: compact it, drop its old segments."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from eosfw_memory.log.cleaning import AbortedBatches, Cleaner, Facts, latest_offsets
from eosfw_memory.log.partition import PartitionLog
from eosfw_memory.log.segment import Segment

_EVERYTHING = 1 << 62


def compact(log: PartitionLog, now_ms: int) -> bool:
    """Clean a log if enough of it is dirty; tell whether anything was done.

    Segments are replaced one by one, oldest first; wherever that stops the log is as good as before.
    """
    ready = list(takewhile(lambda segment: _cleanable(log, segment, now_ms), log.sealed_segments()))
    dirty = [segment for segment in ready if segment.end_offset > log.cleaned_to]
    if not dirty or not (_due(log, dirty[0], now_ms) or _bytes(dirty) >= log.config.min_dirty_ratio * _bytes(ready)):
        return False
    entries = log.state.aborted.ended_in(0, _EVERYTHING)
    every = (batch for segment in dirty for batch in segment.batches())
    latest = latest_offsets(every, AbortedBatches(entries))
    facts = Facts(latest, log.producers(), now_ms, log.config.delete_retention_ms)
    cleaner = Cleaner(facts, AbortedBatches(entries))
    for segment in ready:
        _rewrite(log, segment, cleaner)
    log.cleaned(ready[-1].end_offset)
    return True


def retain(log: PartitionLog, now_ms: int) -> int:
    """Drop the segments that nobody can read, or is to read, any more; tell how many. The active one stays."""
    dropped = 0
    for segment in list(log.sealed_segments()):
        if segment.end_offset > log.last_stable_offset or not _droppable(log, segment, now_ms):
            break
        log.drop_first()
        dropped += 1
    return dropped


def _cleanable(log: PartitionLog, segment: Segment, now_ms: int) -> bool:
    lag = log.config.min_compaction_lag_ms
    return segment.end_offset <= log.last_stable_offset and (not lag or segment.max_timestamp <= now_ms - lag)


def _due(log: PartitionLog, segment: Segment, now_ms: int) -> bool:
    """Whether a record has waited for its compaction for as long as it may (KIP-354)."""
    oldest = segment.newest[0] if len(segment) else now_ms
    return oldest < now_ms - log.config.max_compaction_lag_ms


def _rewrite(log: PartitionLog, segment: Segment, cleaner: Cleaner) -> None:
    before = list(segment.batches())
    cleaned = [cleaner.clean(batch, last=at == len(before) - 1) for at, batch in enumerate(before)]
    after = [batch for batch in cleaned if batch is not None]
    if after != before:
        log.rewrite(segment, after, cleaner.gone_markers)


def _droppable(log: PartitionLog, segment: Segment, now_ms: int) -> bool:
    if segment.end_offset <= log.log_start_offset:
        return True
    rules = log.config
    too_old = rules.retention_ms >= 0 and now_ms - segment.max_timestamp > rules.retention_ms
    too_much = 0 <= rules.retention_bytes <= log.size - segment.size
    return rules.deleted and (too_old or too_much)


def _bytes(segments: Iterable[Segment]) -> int:
    return sum(segment.size for segment in segments)
