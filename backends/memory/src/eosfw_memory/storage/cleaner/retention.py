"""Delete the oldest segments of a log: the work that Kafka's `LogManager` calls retention."""

from __future__ import annotations

from eosfw_memory.storage.log.partition_log import PartitionLog
from eosfw_memory.storage.log.segment import Segment


def retain(log: PartitionLog, now_ms: int) -> int:
    """Delete the oldest segments as long as they may go; tell how many. The active segment stays."""
    deleted = 0
    for segment in list(log.rolled_segments()):
        # An open transaction's records stay, however old: a reader would find its marker without them.
        if segment.end_offset > log.last_stable_offset or not _is_deletable(log, segment, now_ms):
            break
        log.delete_oldest_segment()
        deleted += 1
    return deleted


def _is_deletable(log: PartitionLog, segment: Segment, now_ms: int) -> bool:
    # What DeleteRecords hid goes even if cleanup.policy is compact alone.
    if segment.end_offset <= log.log_start_offset:
        return True
    rules = log.config
    # Records of clients that give no time (-1) have no age; taken for a time, it would be older than any other.
    too_old = segment.max_timestamp >= 0 and 0 <= rules.retention_ms < now_ms - segment.max_timestamp
    # Kafka never deletes below retention.bytes: a segment goes only if what remains still has as many.
    too_much = 0 <= rules.retention_bytes <= log.size - segment.size
    return rules.deleted and (too_old or too_much)
