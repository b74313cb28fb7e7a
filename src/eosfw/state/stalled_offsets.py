"""Notice a source whose offsets do not move."""

from __future__ import annotations

from eosfw.records import SourceBatch, SourceOffset, SourcePartition, SourceRecord

POLLS = 100
"""Polls in a row that leave a source where it was before anybody hears of it: some sources state one offset for many
records of one event, say a row of a large transaction."""


class StalledOffsets:
    """Counts polls in a row that ended at one and the same offset."""

    def __init__(self) -> None:
        self._last: tuple[SourcePartition, SourceOffset] | None = None
        self._count = 0

    def is_stalled_after(self, last: SourceRecord | SourceBatch) -> bool:
        """Take note of the last record of a poll; True once, when the source has stood still for too long."""
        if not last.source_offset:  # states no position at all: nothing could move
            return False
        position = (last.source_partition, last.source_offset)
        if position != self._last:
            # Copies: a task may go on with the same mappings.
            self._last, self._count = (dict(last.source_partition), dict(last.source_offset)), 0
        self._count += 1
        return self._count == POLLS
