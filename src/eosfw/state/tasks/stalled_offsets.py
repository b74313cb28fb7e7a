"""Detection of a source whose offsets do not advance."""

from __future__ import annotations

from eosfw.state.tasks.poll_batch import SourcePosition

POLLS = 100
"""Polls in a row at one offset before a notice. Some sources give one offset to many records, such as the rows of a
large transaction."""


class StalledOffsets:
    """Counts polls in a row that ended at the same offset."""

    def __init__(self) -> None:
        self._last: SourcePosition | None = None
        self._count = 0

    def is_stalled_after(self, position: SourcePosition) -> bool:
        """Take note of the last position of a poll; True once, when the source has stood still for too long."""
        partition, offset = position
        if not offset:  # states no position at all: nothing could move
            return False
        if position != self._last:
            # Copies: a task may go on with the same mappings.
            self._last, self._count = (dict(partition), dict(offset)), 0
        self._count += 1
        return self._count == POLLS
