"""What the methods of a partition's log return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.storage.log.transaction_index import AbortedTransaction
from eosfw_memory.storage.records.batch import Buffer


class LogAppendInfo(NamedTuple):
    """Where a batch was appended; `log_append_time` is -1 where the timestamps of the producer count."""

    base_offset: int
    last_offset: int
    log_append_time: int
    duplicate: bool
    """The batch repeats one that was appended before; nothing was appended."""


class FetchDataInfo(NamedTuple):
    """What a fetch found."""

    pieces: Sequence[Buffer]
    """Whole batches one behind the other, cut anywhere; the first may begin before the wanted offset."""
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: tuple[AbortedTransaction, ...]
    """The aborted transactions of these records; always empty at read_uncommitted."""

    @property
    def records(self) -> bytes:
        """All pieces as one string of bytes."""
        return b"".join(self.pieces)


class TimestampAndOffset(NamedTuple):
    """The answer to a look-up by time; the timestamp is -1 for an end of the log."""

    timestamp: int
    offset: int
    leader_epoch: int


class UndecidedTransaction(NamedTuple):
    """A transaction that is open in this partition (KIP-664)."""

    producer: ProducerIdAndEpoch
    first_offset: int
    last_timestamp: int
