"""Run the log of one partition: append, mark, fetch, look up (KIP-98)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw_memory.log.leader_epochs import EpochEnd, EpochStart, end_of, following, within
from eosfw_memory.log.log_results import FetchDataInfo, LogAppendInfo, TimestampAndOffset, UndecidedTransaction
from eosfw_memory.log.log_storage import InMemoryLogStorage, LogState, LogStorage
from eosfw_memory.log.log_validator import LogConfig, check, check_size, validate_records
from eosfw_memory.log.producer_state import NOT_OPEN, Origin, ProducerStateEntry
from eosfw_memory.log.producer_state_replay import replay, take_marker
from eosfw_memory.log.segment import Segment
from eosfw_memory.log_errors import KafkaStorageError, OffsetOutOfRangeError
from eosfw_memory.records.batch import (
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    TimestampType,
    header_at,
    read_header,
    restamped,
)
from eosfw_memory.records.codec import decode_records
from eosfw_memory.records.markers import marker
from eosfw_memory.records.transaction_result import TransactionResult

LATEST: Final = -1
EARLIEST: Final = -2
_DEFAULT: Final = LogConfig()


class PartitionLog:
    """Kafka's `UnifiedLog`. It is the only replica of the partition, so its high watermark is its end."""

    def __init__(
        self, where: TopicPartition, config: LogConfig = _DEFAULT, log_storage: LogStorage | None = None
    ) -> None:
        self.where = where
        self.config = config
        self.log_storage = InMemoryLogStorage() if log_storage is None else log_storage
        kept = self.log_storage.load()
        self.log_start_offset = kept.start_offset
        """The first offset that is there for readers."""
        self.first_dirty_offset = kept.first_dirty_offset
        self.state = kept.state
        self._producers, self._open = kept.state.producers, kept.state.open
        self._segments = kept.segments
        self._active = kept.segments[-1]
        self._roll_at_ms: int | None = None
        self._checkpoint_at = self._active.kept_size + self.log_storage.checkpoint_bytes
        self.assign_epoch(kept.leader_epoch)

    @property
    def leader_epoch(self) -> int:
        """In which batches are written now."""
        return self._active.leader_epoch

    @property
    def high_watermark(self) -> int:
        return self._active.end_offset

    @property
    def last_stable_offset(self) -> int:
        """The offset below which every transaction is decided (BRK-06)."""
        undecided = self._open.first_undecided
        return self._active.end_offset if undecided is None else max(undecided, self.log_start_offset)

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return sum(segment.size for segment in self._segments)

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

        `header` is what `read_header` gave for this batch, so that a caller who looked does not pay twice. `bytes` are
        kept, not copied. A batch of our `encoded_in_process` needs no look at its records.
        """
        self._refuse_if_failed()
        if header is None:
            header = read_header(batch)
        check(header, self.config, origin)
        kept = bytes(batch)
        newest = header.max_timestamp
        if origin is Origin.CLIENT:
            newest = validate_records(kept, header, self.config, now_ms, own=encoded_in_process)
        has_producer = header.producer_id != NO_PRODUCER_ID
        repeated = self._producers.check_append(header, origin) if has_producer else None
        if repeated is not None:
            stamp = self._append_time(repeated.timestamp)
            return LogAppendInfo(repeated.base_offset, repeated.last_offset, stamp, duplicate=True)
        kind = self.config.timestamp_type
        if kind is TimestampType.LOG_APPEND_TIME:
            newest = now_ms
        if newest != header.max_timestamp or kind is not header.timestamp_type:
            kept = restamped(kept, header, newest, kind)
            header = header_at(kept, 0)
        base_offset = self._put(kept, header.records, header.max_timestamp, now_ms)
        if has_producer and self._producers.update(header, base_offset):
            self._open.begin(header.producer_id, base_offset)
        last_offset = base_offset + header.last_offset_delta
        return LogAppendInfo(base_offset, last_offset, self._append_time(now_ms), duplicate=False)

    def append_internal(self, batch: bytes, records: int, now_ms: int) -> int:
        """Append what the broker itself encoded just now for a topic of its own; give its base offset.

        Only its size needs a check: raises MessageTooLargeError, with nothing changed.
        """
        self._refuse_if_failed()
        check_size(len(batch), self.config)
        return self._put(batch, records, now_ms, now_ms)

    def append_marker(
        self, producer: ProducerIdAndEpoch, result: TransactionResult, coordinator_epoch: int, now_ms: int
    ) -> int:
        """End the producer's transaction here; give the marker's offset.

        A marker for a producer without an open transaction takes an offset too, but decides nothing (BRK-05).
        """
        self._refuse_if_failed()
        self._producers.check_marker(producer, coordinator_epoch)
        offset = self._put(marker(producer, result, coordinator_epoch, now_ms), 1, now_ms, now_ms)
        take_marker(self.state, producer, result, coordinator_epoch, now_ms, offset)
        return offset

    def assign_epoch(self, epoch: int) -> None:
        """Go on in a leader epoch, which is never an older one (KIP-101)."""
        self._active.assign_epoch(epoch)

    def update_config(self, config: LogConfig) -> None:
        """Go by other rules from now on."""
        if self._roll_at_ms is not None:
            self._roll_at_ms += config.segment_ms - self.config.segment_ms
        self.config = config

    def on_clock_moved_back(self, now_ms: int) -> None:
        """Let the active segment end in time, though the clock may have gone back."""
        if self._roll_at_ms is not None:
            self._roll_at_ms = min(self._roll_at_ms, now_ms + self.config.segment_ms)

    def _put(self, batch: bytes, records: int, newest: int, now_ms: int) -> int:
        """Append to the active segment, or to a fresh one when it has had its size or its time."""
        due = self._roll_at_ms
        if due is None:
            self._roll_at_ms = now_ms + self.config.segment_ms
        elif now_ms >= due or self._active.size + len(batch) > self.config.segment_bytes:
            self._roll(now_ms)
        elif self._active.size > self._checkpoint_at:
            self._checkpoint()
        return self._active.append(batch, records, newest)

    def _has_room(self, size: int, now_ms: int) -> bool:
        """Whether the active segment takes so many bytes, with nothing else to do before."""
        due, full = self._roll_at_ms, self._active.size + size
        return due is not None and now_ms < due and full <= min(self.config.segment_bytes, self._checkpoint_at)

    def _checkpoint(self) -> None:
        self.log_storage.checkpoint(self._active, self.state)
        self._checkpoint_at = self._active.size + self.log_storage.checkpoint_bytes

    def _roll(self, now_ms: int) -> None:
        if self._active.size:
            self.log_storage.segment_rolled(self._active, self.state)
            epoch = self.leader_epoch
            self._active = self.log_storage.new_segment(self._active.end_offset)
            self._active.assign_epoch(epoch)
            self._segments.append(self._active)
            self._checkpoint_at = self.log_storage.checkpoint_bytes
        self._roll_at_ms = now_ms + self.config.segment_ms

    def _refuse_if_failed(self) -> None:
        if self.log_storage.failed is not None:
            raise KafkaStorageError(self.log_storage.failure_message())

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
        pieces, behind = self._read(offset, self.visible_end(isolation), max_bytes)
        aborted = self.state.aborted.between(offset, behind) if committed and pieces else ()
        return FetchDataInfo(pieces, self.high_watermark, self.last_stable_offset, self.log_start_offset, aborted)

    def _read(self, offset: int, end: int, max_bytes: int) -> tuple[Sequence[Buffer], int]:
        """From one segment: the one that holds `offset`, or the next with anything visible behind it."""
        active = self._active
        if offset >= active.base_offset:
            return active.read(offset, end, max_bytes)
        first = bisect_right(self._segments, offset, key=_base_offset) - 1
        for segment in self._segments[max(first, 0) :]:
            pieces, behind = segment.read(max(offset, segment.base_offset), end, max_bytes)
            if pieces:
                return pieces, behind
        return (), offset

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
        batches_since = (batch for segment in self._segments for batch in segment.batches_since(timestamp))
        every = (_found_in(batch, timestamp, self.log_start_offset) for batch in batches_since)
        found = next((one for one in every if one is not None), None)
        return found if found is not None and found.offset < end else None

    def max_timestamp_offset(
        self, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    ) -> TimestampAndOffset | None:
        """The first record with the largest timestamp; None in an empty log, or where that record is not visible yet.

        Markers count, as do records before the start of the log: so it is in Kafka.
        """
        segment = max(self._segments, key=_max_timestamp)
        batch = next(segment.batches_since(segment.max_timestamp), None)
        found = None if batch is None else _found_in(batch, segment.max_timestamp, 0)
        return found if found is not None and found.offset < self.visible_end(isolation) else None

    def epochs(self) -> Sequence[EpochStart]:
        """The leader epochs of all that is left, oldest first; the last is that of now."""
        return within(following(segment.epochs for segment in self._segments), self.log_start_offset)

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        """Where a leader epoch ends, as far as it is known here (KIP-320)."""
        return end_of(self.epochs(), epoch, self.high_watermark)

    # --- keeping

    @property
    def active_segment(self) -> Segment:
        """The one that grows."""
        return self._active

    def rolled_segments(self) -> Sequence[Segment]:
        """All but the active one, oldest first."""
        return self._segments[:-1]

    def delete_before(self, offset: int) -> int:
        """Take everything before an offset (LATEST for the end) from readers; give where the log starts now."""
        wanted = self.high_watermark if offset == LATEST else offset
        if not 0 <= wanted <= self.high_watermark:
            raise OffsetOutOfRangeError(f"{self.where}: cannot delete up to {offset}, the end is {self.high_watermark}")
        if wanted > self.log_start_offset:
            self._refuse_if_failed()
            self.log_storage.save_log_start_offset(wanted)
            self.log_start_offset = wanted
        return self.log_start_offset

    def delete_oldest_segment(self) -> None:
        """Forget the oldest segment."""
        self.log_storage.delete_segment(self._segments.pop(0))
        begins = self._segments[0].base_offset
        self.log_start_offset = max(self.log_start_offset, begins)
        self.state.aborted.forget_before(begins)

    def replace_segments(
        self, segments: Sequence[Segment], batches: Sequence[bytes], gone_markers: Collection[int]
    ) -> None:
        """Put one segment with these batches in the place of sealed ones that follow each other."""
        aborted = self.state.aborted.without(gone_markers) if gone_markers else self.state.aborted
        at = self._segments.index(segments[0])
        self._segments[at : at + len(segments)] = [self.log_storage.replace_segments(segments, batches, aborted)]
        self.state.aborted = aborted

    def mark_cleaned(self, offset: int) -> None:
        """Remember that everything before an offset was compacted."""
        self.log_storage.save_first_dirty_offset(offset)
        self.first_dirty_offset = offset

    def expire_producers(self, before_ms: int) -> list[int]:
        """Forget the producers that wrote nothing since and have no open transaction (BRK-08); name them."""
        return self._producers.expire(before_ms)

    def close(self) -> None:
        """Leave all in good order for the next start."""
        self.log_storage.close(self._segments, self.state)

    def delete(self) -> None:
        """Give up all that is kept, for a topic that is deleted."""
        for segment in self._segments:
            self.log_storage.delete_segment(segment)

    def rebuild_producer_state(self) -> None:
        """Forget what appends told, learn it from the batches, as a start does."""
        self.state = LogState()
        self._producers, self._open = self.state.producers, self.state.open
        for batch in self.batches():
            header = header_at(batch, 0)
            replay(self.state, header, batch if header.control else None)

    # --- describing

    def batches(self) -> Iterator[bytes]:
        """Every batch in order, to rebuild state from the log."""
        return (batch for segment in self._segments for batch in segment.batches())

    def producers(self) -> Mapping[int, ProducerStateEntry]:
        """What is known of each producer id; not to be changed."""
        return self._producers.known()

    def first_offset_of(self, producer_id: int) -> int | None:
        """Where the producer's open transaction begins here, or None."""
        state = self._producers.known().get(producer_id)
        return None if state is None or state.first_offset == NOT_OPEN else state.first_offset

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether the producer's transaction is open here, under this very epoch."""
        state = self._producers.known().get(producer_id)
        return state is not None and state.first_offset != NOT_OPEN and state.epoch == epoch

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        """Raise StaleProducerEpochError when a newer holder of the producer id has written here (BRK-01)."""
        self._producers.check_epoch(producer_id, epoch)

    def hanging_transactions(self, before_ms: int) -> list[UndecidedTransaction]:
        """The open ones of which nothing was heard since (BRK-10)."""
        return [each for each in self.open_transactions() if each.last_timestamp < before_ms]

    def open_transactions(self) -> list[UndecidedTransaction]:
        """Those that are not decided, oldest first: the first holds back the last stable offset."""
        known = self._producers.known()
        return [
            UndecidedTransaction(
                ProducerIdAndEpoch(producer_id, known[producer_id].epoch), first, known[producer_id].last_timestamp
            )
            for first, producer_id in self._open
        ]


def _base_offset(segment: Segment) -> int:
    return segment.base_offset


def _max_timestamp(segment: Segment) -> int:
    return segment.max_timestamp


def _found_in(batch: bytes, timestamp: int, start: int) -> TimestampAndOffset | None:
    """The first record of a batch that is neither older nor before the start of the log."""
    header = header_at(batch, 0)
    columns = decode_records(batch, header)
    pairs = zip(columns.timestamps, columns.offsets, strict=True)
    return next(
        (TimestampAndOffset(time, at, header.leader_epoch) for time, at in pairs if time >= timestamp and at >= start),
        None,
    )
