"""The properties of a topic that its partitions go by. Kafka's `LogConfig`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from eosfw_memory.storage.records.batch import TimestampType

ANY_AGE: Final = 2**63 - 1
"""Kafka's way to say that records may be as old as they like."""


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What decides which batches a partition accepts, and how long it keeps them; the defaults are Kafka's."""

    # 1 MiB, and the 12 bytes that precede what a batch's declared length counts.
    max_message_bytes: int = 1_048_588
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    timestamp_before_max_ms: int = ANY_AGE
    timestamp_after_max_ms: int = 3_600_000
    compacted: bool = False
    """Old values of a key are removed, so every record needs a key."""
    deleted: bool = True
    """Old segments are removed."""
    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    delete_retention_ms: int = 86_400_000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = 2**63 - 1
    min_dirty_ratio: float = 0.5
