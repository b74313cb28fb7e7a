"""Say what a partition asks of the place that keeps its batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from eosfw_memory.log.producer_state import ProducerStateManager
from eosfw_memory.log.segment import MemorySegment, Segment
from eosfw_memory.log.transaction_index import TransactionIndex
from eosfw_memory.log.undecided_transactions import UndecidedTransactions


@dataclass(slots=True)
class LogState:
    """What the batches of a log tell besides their records; always the same as a replay of them gives."""

    producers: ProducerStateManager = field(default_factory=ProducerStateManager)
    open: UndecidedTransactions = field(default_factory=UndecidedTransactions)
    aborted: TransactionIndex = field(default_factory=TransactionIndex)

    def clear(self) -> None:
        """Forget everything, to be rebuilt from the batches."""
        self.producers, self.open, self.aborted = ProducerStateManager(), UndecidedTransactions(), TransactionIndex()


@dataclass(slots=True)
class LoadedLog:
    """What of a partition was there already."""

    segments: list[Segment]
    """At least one; each begins where the one before it ends."""
    state: LogState = field(default_factory=LogState)
    start_offset: int = 0
    first_dirty_offset: int = 0
    """Below it the log was compacted."""
    leader_epoch: int = 0
    """In which it is led from now on."""


class LogStorage(Protocol):
    """Where one partition's segments are; raises KafkaStorageError when that fails, with nothing changed."""

    checkpoint_bytes: int
    """By how much a segment grows before its state is worth keeping."""

    @property
    def failed(self) -> str | None:
        """Why nothing is accepted any more; None while all is well. Reads go on."""

    def failure_message(self) -> str:
        """What to tell whoever wants to write all the same; the broker's log is told it, too, once."""

    def describe_position(self, offset: int) -> str:
        """Where an offset is, for people."""

    def load(self) -> LoadedLog:
        """What was there; called once."""

    def new_segment(self, base_offset: int) -> Segment:
        """Begin a segment."""

    def checkpoint(self, segment: Segment, state: LogState) -> None:
        """Keep what a start must know of all up to now, so that it looks only at what is written later."""

    def segment_rolled(self, segment: Segment, state: LogState) -> None:
        """A segment gets no more batches; `state` is that of the log behind it."""

    def replace_segments(
        self, segments: Sequence[Segment], batches: Iterable[bytes], aborted: TransactionIndex
    ) -> Segment:
        """Replace sealed segments that follow each other by one with these stamped batches, at once or not at all.

        `aborted` are the aborted transactions that still have their markers.
        """

    def delete_segment(self, segment: Segment) -> None:
        """Forget a segment with its batches."""

    def save_log_start_offset(self, offset: int) -> None:
        """Remember the first offset that is there for readers."""

    def save_first_dirty_offset(self, offset: int) -> None:
        """Remember how far the log was compacted."""

    def close(self, segments: list[Segment], state: LogState) -> None:
        """Leave all in such an order that the next start needs no look at the batches."""


class InMemoryLogStorage:
    """Segments in memory: nothing is there at the start, nothing stays."""

    failed: str | None = None
    checkpoint_bytes = 1 << 62

    def failure_message(self) -> str:
        return ""

    def describe_position(self, offset: int) -> str:
        return f"offset {offset}"

    def load(self) -> LoadedLog:
        return LoadedLog([MemorySegment(0)])

    def new_segment(self, base_offset: int) -> Segment:
        return MemorySegment(base_offset)

    def checkpoint(self, segment: Segment, state: LogState) -> None:
        pass

    def segment_rolled(self, segment: Segment, state: LogState) -> None:
        pass

    def replace_segments(
        self, segments: Sequence[Segment], batches: Iterable[bytes], aborted: TransactionIndex
    ) -> Segment:
        made = MemorySegment(segments[0].base_offset)
        for batch in batches:
            made.append_stamped(batch)
        made.take_epochs_of(segments)
        return made

    def delete_segment(self, segment: Segment) -> None:
        pass

    def save_log_start_offset(self, offset: int) -> None:
        pass

    def save_first_dirty_offset(self, offset: int) -> None:
        pass

    def close(self, segments: list[Segment], state: LogState) -> None:
        pass
