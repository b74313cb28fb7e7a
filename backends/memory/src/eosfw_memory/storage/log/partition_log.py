"""Run the log of one partition by the rules of KIP-98: append, mark, fetch, look up. Kafka's `UnifiedLog`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_memory.common.log_errors import OffsetOutOfRangeError
from eosfw_memory.storage.log.leader_epochs import EpochEnd, EpochStart, end_of
from eosfw_memory.storage.log.local_log import LocalLog
from eosfw_memory.storage.log.log_config import LogConfig
from eosfw_memory.storage.log.log_results import FetchDataInfo, LogAppendInfo, TimestampAndOffset, UndecidedTransaction
from eosfw_memory.storage.log.log_storage import LogStorage
from eosfw_memory.storage.log.log_validator import check, check_size, validate_records
from eosfw_memory.storage.log.producer_state import NOT_OPEN, Origin, ProducerStateEntry
from eosfw_memory.storage.log.producer_state_replay import replay, take_marker
from eosfw_memory.storage.log.segment import Segment
from eosfw_memory.storage.records.batch import (
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
    header_at,
    read_header,
    restamped,
)
from eosfw_memory.storage.records.codec import decode_records
from eosfw_memory.storage.records.markers import marker
from eosfw_memory.storage.records.transaction_result import TransactionResult

# What ListOffsets and DeleteRecords have in place of a time or an offset.
LATEST: Final = -1
EARLIEST: Final = -2
_DEFAULT: Final = LogConfig()


class PartitionLog:
    """The only replica of a partition, so its high watermark is its end."""

    def __init__(
        self, where: TopicPartition, config: LogConfig = _DEFAULT, log_storage: LogStorage | None = None
    ) -> None:
        self.where = where
        self.config = config
        self.log_storage = LogStorage() if log_storage is None else log_storage
        loaded = self.log_storage.load()
        self.log_start_offset = loaded.start_offset
        """The first offset that readers may fetch."""
        self.first_dirty_offset = loaded.first_dirty_offset
        self.state = loaded.state
        self._local = LocalLog(self.log_storage, loaded, config)

    @property
    def leader_epoch(self) -> int:
        """The leader epoch of the batches that are written now."""
        return self._local.active.leader_epoch

    @property
    def high_watermark(self) -> int:
        return self._local.active.end_offset

    @property
    def last_stable_offset(self) -> int:
        """The offset below which every transaction is decided (BRK-06)."""
        # DeleteRecords may have moved the log's start past the first record of an open transaction.
        undecided = self.state.open.first_undecided
        return self.high_watermark if undecided is None else max(undecided, self.log_start_offset)

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return self._local.size

    # --- writing

    def append(
        self,
        batch: bytes | memoryview,
        now_ms: int,
        header: BatchHeader | None = None,
        *,
        origin: Origin = Origin.CLIENT,
        encoded_in_process: bool = False,
    ) -> LogAppendInfo:
        """Append one record batch as it is; raise a LogError, with nothing changed, when it may not be.

        `header` is what `read_header` gave for this batch, so that a caller who has it does not pay for a second
        checksum. `bytes` are kept, not copied. Records that our own client encoded in this process are not checked.
        """
        self._local.refuse_if_failed()
        if header is None:
            header = read_header(batch)
        check(header, self.config, origin)
        kept = bytes(batch)
        newest = header.max_timestamp
        if origin is Origin.CLIENT:
            newest = validate_records(kept, header, self.config, now_ms, own=encoded_in_process)
        has_producer = header.producer_id != NO_PRODUCER_ID
        repeated = self.state.producers.check_append(header, origin) if has_producer else None
        if repeated is not None:
            stamp = self._append_time(repeated.timestamp)
            return LogAppendInfo(repeated.base_offset, repeated.last_offset, stamp, duplicate=True)
        kind = self.config.timestamp_type
        if kind is TimestampType.LOG_APPEND_TIME:
            newest = now_ms
        if newest != header.max_timestamp or kind is not header.timestamp_type:
            kept = restamped(kept, header, newest, kind)
            header = header_at(kept, 0)
        # The storage first: if it fails, the producer's state must not know the batch, so that a retry is no duplicate.
        base_offset = self._local.append(kept, header.records, header.max_timestamp, now_ms)
        if has_producer and self.state.producers.update(header, base_offset):
            self.state.open.begin(header.producer_id, base_offset)
        last_offset = base_offset + header.last_offset_delta
        return LogAppendInfo(base_offset, last_offset, self._append_time(now_ms), duplicate=False)

    def append_internal(self, batch: bytes, records: int, now_ms: int) -> int:
        """Append a batch that the broker encoded for an internal topic; give its base offset.

        Only its size needs a check: raises MessageTooLargeError, with nothing changed.
        """
        self._local.refuse_if_failed()
        check_size(len(batch), self.config)
        return self._local.append(batch, records, now_ms, now_ms)

    def append_marker(
        self, producer: ProducerIdAndEpoch, result: TransactionResult, coordinator_epoch: int, now_ms: int
    ) -> int:
        """End the producer's transaction here; give the marker's offset.

        A marker for a producer without an open transaction takes an offset too, but decides nothing (BRK-05).
        """
        self._local.refuse_if_failed()
        self.state.producers.check_marker(producer, coordinator_epoch)
        # The storage first: if it fails, the transaction stays open, and the coordinator sends its marker again.
        offset = self._local.append(marker(producer, result, coordinator_epoch, now_ms), 1, now_ms, now_ms)
        take_marker(self.state, producer, result, coordinator_epoch, now_ms, offset)
        return offset

    def assign_epoch(self, epoch: int) -> None:
        """Write further batches in a leader epoch, which is never older than the one before (KIP-101)."""
        self._local.active.assign_epoch(epoch)

    def update_config(self, config: LogConfig) -> None:
        """Apply other topic properties from now on."""
        self._local.update_config(config)
        self.config = config

    def on_clock_moved_back(self, now_ms: int) -> None:
        """Roll the active segment in time although the clock went back."""
        self._local.on_clock_moved_back(now_ms)

    def _append_time(self, timestamp: int) -> int:
        return timestamp if self.config.timestamp_type is TimestampType.LOG_APPEND_TIME else NO_TIMESTAMP

    # --- reading

    def fetch(self, offset: int, max_bytes: int, isolation: IsolationLevel) -> FetchDataInfo:
        """The batches from `offset` on that a reader of this level may see: at least one, if there is any.

        At read_committed they end at the last stable offset, even before records outside any transaction (CON-01).
        """
        if not self.log_start_offset <= offset <= self.high_watermark:
            raise OffsetOutOfRangeError(
                f"{self.where}: offset {offset} lies outside the log, which holds {self.log_start_offset} up to "
                f"{self.high_watermark}"
            )
        committed = isolation is IsolationLevel.READ_COMMITTED
        pieces, behind = self._local.read(offset, self.visible_end(isolation), max_bytes)
        aborted = self.state.aborted.between(offset, behind) if committed and pieces else ()
        return FetchDataInfo(pieces, self.high_watermark, self.last_stable_offset, self.log_start_offset, aborted)

    def visible_end(self, isolation: IsolationLevel) -> int:
        """The offset at which a reader of this level stops."""
        return self.last_stable_offset if isolation is IsolationLevel.READ_COMMITTED else self.high_watermark

    def offset_for_timestamp(
        self, timestamp: int, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    ) -> TimestampAndOffset | None:
        """The first visible record that is not older, or None; LATEST asks for the end, EARLIEST for the start."""
        end = self.visible_end(isolation)
        if timestamp == LATEST:
            return TimestampAndOffset(NO_TIMESTAMP, end, self.leader_epoch)
        if timestamp == EARLIEST:
            return TimestampAndOffset(NO_TIMESTAMP, self.log_start_offset, self.epochs()[0].epoch)
        batches = self._local.batches_since(timestamp)
        every = (_found_in(batch, timestamp, self.log_start_offset) for batch in batches)
        found = next((one for one in every if one is not None), None)
        return found if found is not None and found.offset < end else None

    def max_timestamp_offset(
        self, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    ) -> TimestampAndOffset | None:
        """The first record with the largest timestamp; None in an empty log, or where that record is not visible yet.

        Markers count, as do records before the start of the log: so it is in Kafka.
        """
        segment = self._local.newest_segment()
        batch = next(segment.batches_since(segment.max_timestamp), None)
        found = None if batch is None else _found_in(batch, segment.max_timestamp, 0)
        return found if found is not None and found.offset < self.visible_end(isolation) else None

    def epochs(self) -> Sequence[EpochStart]:
        """The leader epochs from the start of the log on, oldest first; the last is the current one."""
        return self._local.epochs(self.log_start_offset)

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        """Where a leader epoch ends, as far as this log knows it (KIP-320)."""
        return end_of(self.epochs(), epoch, self.high_watermark)

    # --- keeping

    @property
    def active_segment(self) -> Segment:
        """The one that grows."""
        return self._local.active

    def rolled_segments(self) -> Sequence[Segment]:
        """All but the active one, oldest first."""
        return self._local.rolled_segments()

    def delete_before(self, offset: int) -> int:
        """Hide everything before an offset (LATEST for the end) from readers; give the new log start offset."""
        wanted = self.high_watermark if offset == LATEST else offset
        if not 0 <= wanted <= self.high_watermark:
            raise OffsetOutOfRangeError(f"{self.where}: cannot delete up to {offset}, the end is {self.high_watermark}")
        if wanted > self.log_start_offset:
            self._local.refuse_if_failed()
            # Saved before readers notice, so that no restart shows them what was deleted.
            self.log_storage.save_log_start_offset(wanted)
            self.log_start_offset = wanted
        return self.log_start_offset

    def delete_oldest_segment(self) -> None:
        """Delete the oldest segment; readers start at the next one."""
        try:
            self._local.delete_oldest_segment()
        finally:  # it is out of the log, even if its files could not be removed
            begins = self._local.start_offset
            self.log_start_offset = max(self.log_start_offset, begins)
            self.state.aborted.forget_before(begins)

    def replace_segments(
        self, segments: Sequence[Segment], batches: Sequence[bytes], gone_markers: Collection[int]
    ) -> None:
        """Put one segment with these batches in the place of rolled ones that follow each other."""
        aborted = self.state.aborted.without(gone_markers) if gone_markers else self.state.aborted
        self._local.replace_segments(segments, batches, aborted)
        # Not before the storage succeeded: the old segments still need the entries of their markers.
        self.state.aborted = aborted

    def mark_cleaned(self, offset: int) -> None:
        """Save that everything before an offset is compacted."""
        self.log_storage.save_first_dirty_offset(offset)
        self.first_dirty_offset = offset

    def expire_producers(self, before_ms: int) -> list[int]:
        """Forget the producers that wrote nothing since and have no open transaction (BRK-08); name them."""
        return self.state.producers.expire(before_ms)

    def close(self) -> None:
        """Leave all in good order for the next start."""
        self._local.close()

    def delete(self) -> None:
        """Delete every segment, for a topic that is deleted."""
        self._local.delete_all()

    def rebuild_producer_state(self) -> None:
        """Forget the state that appends built, and build it from the batches, as a start does."""
        self.state.clear()
        for batch in self.batches():
            header = header_at(batch, 0)
            replay(self.state, header, batch if header.control else None)

    # --- describing

    def batches(self) -> Iterator[bytes]:
        """Every batch in order, to rebuild state from the log."""
        return self._local.batches()

    def producers(self) -> Mapping[int, ProducerStateEntry]:
        """The state of each producer by its id; read only."""
        return self.state.producers.known()

    def first_offset_of(self, producer_id: int) -> int | None:
        """Where the producer's open transaction begins in this partition, or None."""
        state = self.state.producers.known().get(producer_id)
        return None if state is None or state.first_offset == NOT_OPEN else state.first_offset

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether a transaction of the producer is open in this partition, in exactly this epoch."""
        state = self.state.producers.known().get(producer_id)
        return state is not None and state.first_offset != NOT_OPEN and state.epoch == epoch

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        """Raise StaleProducerEpochError when a newer holder of the producer id has written here (BRK-01)."""
        self.state.producers.check_epoch(producer_id, epoch)

    def hanging_transactions(self, before_ms: int) -> list[UndecidedTransaction]:
        """The open transactions that wrote nothing since (BRK-10)."""
        return [each for each in self.open_transactions() if each.last_timestamp < before_ms]

    def open_transactions(self) -> list[UndecidedTransaction]:
        """The undecided transactions, oldest first: the first one holds back the last stable offset."""
        known = self.state.producers.known()
        return [
            UndecidedTransaction(
                ProducerIdAndEpoch(producer_id, known[producer_id].epoch), first, known[producer_id].last_timestamp
            )
            for first, producer_id in self.state.open
        ]


def _found_in(batch: bytes, timestamp: int, start: int) -> TimestampAndOffset | None:
    """The first record of a batch that is neither older nor before the start of the log."""
    header = header_at(batch, 0)
    columns = decode_records(batch, header)
    pairs = zip(columns.timestamps, columns.offsets, strict=True)
    return next(
        (TimestampAndOffset(time, at, header.leader_epoch) for time, at in pairs if time >= timestamp and at >= start),
        None,
    )
