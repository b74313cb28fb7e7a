"""Keep the segments of one partition: append, roll, read, replace. Kafka's `LocalLog`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import attrgetter

from eosfw_memory.common.log_errors import KafkaStorageError
from eosfw_memory.storage.log.leader_epochs import EpochStart, following, within
from eosfw_memory.storage.log.log_config import LogConfig
from eosfw_memory.storage.log.log_storage import LoadedLog, LogState, LogStorage
from eosfw_memory.storage.log.segment import Segment
from eosfw_memory.storage.log.transaction_index import TransactionIndex
from eosfw_memory.storage.records.batch import Buffer


class LocalLog:
    """Segments that follow each other, of which the last one, the active segment, grows."""

    def __init__(self, storage: LogStorage, loaded: LoadedLog, config: LogConfig) -> None:
        self.active = loaded.segments[-1]
        self._storage = storage
        self._state: LogState = loaded.state
        self._config = config
        self._segments = loaded.segments
        self._roll_at_ms: int | None = None
        self._checkpoint_at = self.active.kept_size + storage.checkpoint_bytes
        self.active.assign_epoch(loaded.leader_epoch)

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return sum(segment.size for segment in self._segments)

    @property
    def start_offset(self) -> int:
        """Where the oldest segment begins."""
        return self._segments[0].base_offset

    # --- writing

    def refuse_if_failed(self) -> None:
        """Raise KafkaStorageError once the storage takes no more writes."""
        if self._storage.failed is not None:
            raise KafkaStorageError(self._storage.failure_message())

    def append(self, batch: bytes, records: int, newest: int, now_ms: int) -> int:
        """Append to the active segment, or to a new one when that is full or old; give the batch's base offset."""
        due = self._roll_at_ms
        if due is None:
            self._roll_at_ms = now_ms + self._config.segment_ms
        elif now_ms >= due or self.active.size + len(batch) > self._config.segment_bytes:
            self._roll(now_ms)
        elif self.active.size > self._checkpoint_at:
            self._checkpoint()
        return self.active.append(batch, records, newest)

    def update_config(self, config: LogConfig) -> None:
        """Roll by other rules from now on."""
        if self._roll_at_ms is not None:
            # The time of a segment still begins at its first append.
            self._roll_at_ms += config.segment_ms - self._config.segment_ms
        self._config = config

    def on_clock_moved_back(self, now_ms: int) -> None:
        """Let the active segment grow for no longer than `segment.ms` from now."""
        if self._roll_at_ms is not None:
            self._roll_at_ms = min(self._roll_at_ms, now_ms + self._config.segment_ms)

    def _checkpoint(self) -> None:
        self._storage.checkpoint(self.active, self._state)
        self._checkpoint_at = self.active.size + self._storage.checkpoint_bytes

    def _roll(self, now_ms: int) -> None:
        # An empty segment stays: the next one would have the same base offset, and so the same file.
        if self.active.size:
            # The state behind a segment is kept before the next one begins, so that a start finds both or neither.
            self._storage.checkpoint(self.active, self._state)
            epoch = self.active.leader_epoch
            self.active = self._storage.new_segment(self.active.end_offset)
            self.active.assign_epoch(epoch)
            self._segments.append(self.active)
            self._checkpoint_at = self._storage.checkpoint_bytes
        self._roll_at_ms = now_ms + self._config.segment_ms

    # --- reading

    def read(self, offset: int, end: int, max_bytes: int) -> tuple[Sequence[Buffer], int]:
        """Batches from one segment: the one that holds `offset`, or the next with anything below `end`."""
        if offset >= self.active.base_offset:
            return self.active.read(offset, end, max_bytes)
        # Compaction leaves gaps, so the segment of this offset may have nothing at or behind it: go on with the next.
        first = bisect_right(self._segments, offset, key=attrgetter("base_offset")) - 1
        for segment in self._segments[max(first, 0) :]:
            pieces, behind = segment.read(max(offset, segment.base_offset), end, max_bytes)
            if pieces:
                return pieces, behind
        return (), offset

    def batches(self) -> Iterator[bytes]:
        """Every batch, in order."""
        return (batch for segment in self._segments for batch in segment.batches())

    def batches_since(self, timestamp: int) -> Iterator[bytes]:
        """Of each segment the batches from the first on that has a record which is not older."""
        return (batch for segment in self._segments for batch in segment.batches_since(timestamp))

    def newest_segment(self) -> Segment:
        """The first segment with the largest timestamp."""
        return max(self._segments, key=attrgetter("max_timestamp"))

    def epochs(self, log_start_offset: int) -> list[EpochStart]:
        """The leader epochs from the start of the log on, oldest first."""
        return within(following(segment.epochs for segment in self._segments), log_start_offset)

    # --- retention and compaction

    def rolled_segments(self) -> Sequence[Segment]:
        """All but the active one, oldest first."""
        return self._segments[:-1]

    def delete_oldest_segment(self) -> None:
        """Delete the first of the rolled segments."""
        self._storage.delete_segment(self._segments.pop(0))

    def delete_all(self) -> None:
        """Delete every segment."""
        for segment in self._segments:
            self._storage.delete_segment(segment)

    def replace_segments(self, old: Sequence[Segment], batches: Sequence[bytes], aborted: TransactionIndex) -> None:
        """Put one segment with these batches in the place of rolled ones that follow each other."""
        at = self._segments.index(old[0])
        self._segments[at : at + len(old)] = [self._storage.replace_segments(old, batches, aborted)]

    def close(self) -> None:
        """Leave all in good order for the next start."""
        self._storage.close(self._segments, self._state)
