"""The storage of a partition's batches, of which nothing stays unless a subclass keeps files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from eosfw_memory.storage.log.log_memory import LogMemory
from eosfw_memory.storage.log.memory_segment import MemorySegment
from eosfw_memory.storage.log.producer_state import ProducerStateManager
from eosfw_memory.storage.log.segment import Segment
from eosfw_memory.storage.log.transaction_index import TransactionIndex
from eosfw_memory.storage.log.undecided_transactions import UndecidedTransactions


@dataclass(slots=True)
class LogState:
    """What follows from the batches of a log besides their records; a replay of them gives an equal state."""

    producers: ProducerStateManager = field(default_factory=ProducerStateManager)
    open: UndecidedTransactions = field(default_factory=UndecidedTransactions)
    aborted: TransactionIndex = field(default_factory=TransactionIndex)

    def clear(self) -> None:
        """Forget everything, to be rebuilt from the batches."""
        self.producers, self.open, self.aborted = ProducerStateManager(), UndecidedTransactions(), TransactionIndex()


@dataclass(slots=True)
class LoadedLog:
    """A partition as the start of the broker found it. Kafka's `LoadedLogOffsets`, with segments and state."""

    segments: list[Segment]
    """At least one; each begins where the one before it ends."""
    state: LogState = field(default_factory=LogState)
    start_offset: int = 0
    first_dirty_offset: int = 0
    """Below it the log was compacted."""
    leader_epoch: int = 0
    """The epoch in which the partition is led from now on."""


class LogStorage:
    """Where one partition's segments are: here in `memory`, with nothing to save; `FileLogStorage` has files.

    Raises KafkaStorageError when the storage fails, with nothing changed.
    """

    # Never: what is lost with the process needs no checkpoints.
    checkpoint_bytes = 1 << 62
    """By how many bytes a segment grows between two checkpoints."""

    def __init__(self, memory: LogMemory | None = None) -> None:
        self._memory = LogMemory() if memory is None else memory

    @property
    def failed(self) -> str | None:
        """Why writes are refused; None while they are accepted. Reads are not affected."""
        return None

    def failure_message(self) -> str:
        """The message of the error for a write after a failure; the first call also logs it."""
        return ""

    def describe_position(self, offset: int) -> str:
        """Where an offset is stored, for messages to users."""
        return f"offset {offset}"

    def load(self) -> LoadedLog:
        """What the storage held at the start; called once."""
        return LoadedLog([self._new_segment(0)])

    def new_segment(self, base_offset: int) -> Segment:
        """Begin a segment."""
        return self._new_segment(base_offset)

    def checkpoint(self, segment: Segment, state: LogState) -> None:
        """Save the state up to here, so that the next start reads only the batches behind it."""

    def replace_segments(
        self, segments: Sequence[Segment], batches: Iterable[bytes], aborted: TransactionIndex
    ) -> Segment:
        """Replace rolled segments that follow each other by one with these stamped batches, at once or not at all.

        `aborted` are the aborted transactions that still have their markers.
        """
        made = self._new_segment(segments[0].base_offset)
        try:
            for batch in batches:
                made.append_stamped(batch)
        except BaseException:
            made.delete()
            raise
        made.take_epochs_of(segments)
        for segment in segments:
            self.delete_segment(segment)
        return made

    def delete_segment(self, segment: Segment) -> None:
        """Delete a segment with its batches."""
        assert isinstance(segment, MemorySegment)
        segment.delete()

    def save_log_start_offset(self, offset: int) -> None:
        """Save the first offset that readers may fetch."""

    def save_first_dirty_offset(self, offset: int) -> None:
        """Save up to which offset the log is compacted."""

    def close(self, segments: list[Segment], state: LogState) -> None:
        """Save everything that lets the next start read no batch."""
        for segment in segments:
            assert isinstance(segment, MemorySegment)
            segment.close()

    def _new_segment(self, base_offset: int) -> MemorySegment:
        return MemorySegment(base_offset, self._memory)
