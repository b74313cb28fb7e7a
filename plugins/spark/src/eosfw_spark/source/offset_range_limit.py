"""Where a read begins or ends, as its options say it (Spark's `KafkaOffsetRangeLimit`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from eosfw.ids import TopicPartition

EARLIEST: Final = -2
"""Stands for the log start in offsets that a user writes, as in Kafka's ListOffsets."""
LATEST: Final = -1
"""Stands for the end that the isolation level shows."""

Offsets = Mapping[TopicPartition, int]
Timestamps = Mapping[TopicPartition, int]
"""Milliseconds since 1970."""


class StrategyOnNoMatchStartingOffset(Enum):
    """What to do with a start that is later than every record of a partition."""

    ERROR = "error"
    LATEST = "latest"


@dataclass(frozen=True, slots=True)
class EarliestOffsetRangeLimit:
    """The log start of every partition."""


@dataclass(frozen=True, slots=True)
class LatestOffsetRangeLimit:
    """The end of every partition that the isolation level shows."""


@dataclass(frozen=True, slots=True)
class SpecificOffsetRangeLimit:
    """An offset for each partition, or `EARLIEST` or `LATEST`."""

    offsets: Offsets


@dataclass(frozen=True, slots=True)
class SpecificTimestampRangeLimit:
    """A time for each partition: its first record of that time or later."""

    timestamps: Timestamps
    strategy: StrategyOnNoMatchStartingOffset = StrategyOnNoMatchStartingOffset.ERROR


@dataclass(frozen=True, slots=True)
class GlobalTimestampRangeLimit:
    """One time for all partitions."""

    timestamp: int
    strategy: StrategyOnNoMatchStartingOffset = StrategyOnNoMatchStartingOffset.ERROR


OffsetRangeLimit = (
    EarliestOffsetRangeLimit
    | LatestOffsetRangeLimit
    | SpecificOffsetRangeLimit
    | SpecificTimestampRangeLimit
    | GlobalTimestampRangeLimit
)
