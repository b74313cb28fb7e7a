"""Decide whether a producer's next batch is in order, repeated, or from a zombie (KIP-98)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from eosfw.ids import ProducerIdAndEpoch

from eosfw_memory.codes import Code
from eosfw_memory.log.batch import NO_SEQUENCE, BatchHeader
from eosfw_memory.log.errors import LogError

REMEMBERED_BATCHES = 5
"""As many as a producer may have in flight."""
_LAST_SEQUENCE = 2**31 - 1


class SeenBatch(NamedTuple):
    """An appended batch, remembered so that its repetition is recognised."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


@dataclass(slots=True)
class ProducerEntry:
    """What a partition knows of one producer id."""

    epoch: int
    batches: deque[SeenBatch] = field(default_factory=lambda: deque(maxlen=REMEMBERED_BATCHES))
    coordinator_epoch: int = -1
    last_timestamp: int = -1

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def enter(self, epoch: int) -> None:
        """Take over a newer epoch, whose sequence starts at 0."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()


class ProducerState:
    """Every producer that wrote to one partition."""

    def __init__(self) -> None:
        self._entries: dict[int, ProducerEntry] = {}

    def entries(self) -> Mapping[int, ProducerEntry]:
        """What is known, by producer id; not to be changed."""
        return self._entries

    def check(self, batch: BatchHeader) -> SeenBatch | None:
        """Let a batch pass (None), recognise its repetition, or raise LogError; changes nothing (BRK-01 to 03)."""
        entry = self._entries.get(batch.producer_id)
        if entry is None:
            return None
        if batch.producer_epoch < entry.epoch:
            raise LogError(
                Code.INVALID_PRODUCER_EPOCH,
                f"producer {batch.producer_id} writes with epoch {batch.producer_epoch}; epoch {entry.epoch} was seen",
            )
        if batch.producer_epoch > entry.epoch:
            _check_sequence(batch, NO_SEQUENCE)
            return None
        for seen in entry.batches:
            if seen.base_sequence == batch.base_sequence and seen.last_sequence == batch.last_sequence:
                return seen
        _check_sequence(batch, entry.last_sequence)
        return None

    def appended(self, batch: BatchHeader, base_offset: int, now_ms: int) -> None:
        """Remember a batch that was appended."""
        entry = self._entries.get(batch.producer_id)
        if entry is None:
            entry = self._entries[batch.producer_id] = ProducerEntry(batch.producer_epoch)
        entry.enter(batch.producer_epoch)
        entry.last_timestamp = now_ms
        last_offset = base_offset + batch.last_offset_delta
        entry.batches.append(
            SeenBatch(batch.base_sequence, batch.last_sequence, base_offset, last_offset, batch.max_timestamp)
        )

    def check_marker(self, producer: ProducerIdAndEpoch, coordinator_epoch: int) -> None:
        """Raise LogError for the marker of an older producer epoch or an older coordinator (COR-10)."""
        entry = self._entries.get(producer.producer_id)
        if entry is None:
            return
        if producer.epoch < entry.epoch:
            raise LogError(
                Code.INVALID_PRODUCER_EPOCH,
                f"a marker of producer {producer.producer_id} has epoch {producer.epoch}; epoch {entry.epoch} was seen",
            )
        if coordinator_epoch < entry.coordinator_epoch:
            raise LogError(
                Code.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator epoch {coordinator_epoch} is older than {entry.coordinator_epoch}",
            )

    def marked(self, producer: ProducerIdAndEpoch, coordinator_epoch: int, now_ms: int) -> None:
        """Remember a marker: it also raises the epoch, so that zombies are refused here from now on (BRK-05)."""
        entry = self._entries.setdefault(producer.producer_id, ProducerEntry(producer.epoch))
        entry.enter(producer.epoch)
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = now_ms


def _check_sequence(batch: BatchHeader, last: int) -> None:
    expected = 0 if last == _LAST_SEQUENCE else last + 1
    if batch.base_sequence != expected:
        raise LogError(
            Code.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"producer {batch.producer_id} sent sequence {batch.base_sequence} where {expected} is next",
        )
