"""Append record batches to one partition; fetch them back by offset.

One replica: what is appended is below the high watermark. Batches stay the bytes they came as, so an append costs a
header and a checksum, never a look at the records.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel

from eosfw_memory.codes import Code
from eosfw_memory.coordinators.states import Outcome
from eosfw_memory.log.aborted import AbortedIndex, AbortedTransaction
from eosfw_memory.log.batch import NO_PRODUCER_ID, BatchHeader, check_client_batch, marker, read_header, stamped
from eosfw_memory.log.codec import decode_records
from eosfw_memory.log.errors import LogError
from eosfw_memory.log.open_transactions import OpenTransactions
from eosfw_memory.log.producer_state import ProducerEntry, ProducerState

LEADER_EPOCH = 0
_NOT_STAMPED = -1


class Appended(NamedTuple):
    """Where a batch lies. `log_append_time` is -1 where the producer's timestamps stay."""

    base_offset: int
    last_offset: int
    log_append_time: int
    duplicate: bool


class Fetched(NamedTuple):
    """Whole batches from the one that holds the wanted offset on, with what a client needs to filter them."""

    records: bytes
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: tuple[AbortedTransaction, ...]


class TimestampedOffset(NamedTuple):
    """The first record at or behind a point in time."""

    timestamp: int
    offset: int


class UndecidedTransaction(NamedTuple):
    """A transaction that is open in this partition."""

    producer: ProducerIdAndEpoch
    first_offset: int
    last_timestamp: int


class PartitionLog:
    """The records of one partition. Not thread-safe: the broker lets one thread in at a time."""

    def __init__(self, where: TopicPartition) -> None:
        self.where = where
        self.log_start_offset = 0
        self._end = 0
        self._bases = array("q")
        self._batches: list[bytes] = []
        self._newest = array("q")
        """The highest timestamp up to each batch, so that a search by time can bisect."""
        self._producers = ProducerState()
        self._open = OpenTransactions()
        self._aborted = AbortedIndex()

    @property
    def high_watermark(self) -> int:
        """The offset behind the last record."""
        return self._end

    @property
    def last_stable_offset(self) -> int:
        """The first undecided offset, or the high watermark when all is decided (BRK-06)."""
        undecided = self._open.first_undecided()
        return self._end if undecided is None else undecided

    def append(self, batch: bytes | memoryview, now_ms: int, header: BatchHeader | None = None) -> Appended:
        """Append one batch of a client; raise LogError, changing nothing, if it is damaged, out of order or fenced.

        A repeated batch is answered with the offsets of the first time (BRK-02). `header` saves reading it again.
        """
        if header is None:
            header = read_header(batch)
        check_client_batch(header)
        if header.producer_id != NO_PRODUCER_ID:
            seen = self._producers.check(header)
            if seen is not None:
                return Appended(seen.base_offset, seen.last_offset, _NOT_STAMPED, duplicate=True)
            self._check_mixing(header)
        base = self._end
        self._add(stamped(batch, base, LEADER_EPOCH), header.last_offset_delta + 1, header.max_timestamp)
        if header.producer_id != NO_PRODUCER_ID:
            self._producers.appended(header, base, now_ms)
            if header.transactional and header.producer_id not in self._open:
                self._open.begin(header.producer_id, base)
        return Appended(base, self._end - 1, _NOT_STAMPED, duplicate=False)

    def append_marker(
        self, producer: ProducerIdAndEpoch, outcome: Outcome, coordinator_epoch: int, now_ms: int
    ) -> int:
        """End a producer's transaction here; return the control record's offset.

        A marker for no data takes an offset, yet moves neither the last stable offset back nor the aborted index.
        """
        self._producers.check_marker(producer, coordinator_epoch)
        offset = self._end
        self._add(marker(offset, producer, outcome, coordinator_epoch, now_ms, LEADER_EPOCH), 1, now_ms)
        self._producers.marked(producer, coordinator_epoch, now_ms)
        first = self._open.end(producer.producer_id)
        if first is not None and outcome is Outcome.ABORT:
            self._aborted.add(producer.producer_id, first, offset, self.last_stable_offset)
        return offset

    def fetch(self, offset: int, max_bytes: int, isolation: IsolationLevel) -> Fetched:
        """Read whole batches from `offset` on: at least one if there is one, else up to `max_bytes`.

        At read_committed nothing at or behind the last stable offset (CON-01), and the aborted transactions of the
        range. Raises LogError OFFSET_OUT_OF_RANGE outside the log.
        """
        if not self.log_start_offset <= offset <= self._end:
            raise LogError(
                Code.OFFSET_OUT_OF_RANGE,
                f"{self.where} holds offsets {self.log_start_offset} to {self._end}, not {offset}",
            )
        committed = isolation is IsolationLevel.READ_COMMITTED
        stable = self.last_stable_offset
        limit = stable if committed else self._end
        first, last = self._slice(offset, limit, max_bytes)
        aborted: tuple[AbortedTransaction, ...] = ()
        if committed and last > first:
            aborted = self._aborted.between(offset, self._base(last))
        records = self._batches[first] if last - first == 1 else b"".join(self._batches[first:last])
        return Fetched(records, self._end, stable, self.log_start_offset, aborted)

    def offset_for_timestamp(self, timestamp: int) -> TimestampedOffset | None:
        """The first record whose timestamp is not older, or None."""
        for i in range(bisect_left(self._newest, timestamp), len(self._batches)):
            columns = decode_records(self._batches[i])
            for at, offset in zip(columns.timestamps, columns.offsets, strict=True):
                if at >= timestamp:
                    return TimestampedOffset(at, offset)
        return None

    def batches(self) -> Sequence[bytes]:
        """Every batch in order, to rebuild state from the log."""
        return self._batches

    def producers(self) -> Mapping[int, ProducerEntry]:
        """What is known of each producer id; not to be changed."""
        return self._producers.entries()

    def first_offset_of(self, producer_id: int) -> int | None:
        """Where the producer's open transaction begins here, or None."""
        return dict(self._open.items()).get(producer_id)

    def open_transactions(self) -> list[UndecidedTransaction]:
        """Those that hold back the last stable offset, oldest first."""
        known = self._producers.entries()
        return [
            UndecidedTransaction(ProducerIdAndEpoch(pid, known[pid].epoch), first, known[pid].last_timestamp)
            for pid, first in self._open.items()
        ]

    def _check_mixing(self, header: BatchHeader) -> None:
        if not header.transactional and header.producer_id in self._open:
            raise LogError(
                Code.INVALID_TXN_STATE,
                f"producer {header.producer_id} sent a batch outside its open transaction in {self.where}",
            )

    def _add(self, batch: bytes, offsets: int, timestamp: int) -> None:
        self._bases.append(self._end)
        self._batches.append(batch)
        self._newest.append(max(timestamp, self._newest[-1]) if self._newest else timestamp)
        self._end += offsets

    def _base(self, index: int) -> int:
        return self._bases[index] if index < len(self._bases) else self._end

    def _slice(self, offset: int, limit: int, max_bytes: int) -> tuple[int, int]:
        """The batches to give, as first and last (not included)."""
        first = bisect_right(self._bases, offset) - 1 if offset < self._end else len(self._bases)
        last, size = first, 0
        while last < len(self._bases) and self._bases[last] < limit:
            size += len(self._batches[last])
            if size > max_bytes and last > first:
                break
            last += 1
        return first, last
