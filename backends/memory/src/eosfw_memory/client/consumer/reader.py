"""The reader of ranges of partitions, over any transport (the fetches of Kafka's `KafkaConsumer`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from eosfw.error_table import MOVED, READ, RETRIABLE
from eosfw.errors import (
    ClusterUnavailableError,
    DamagedDataError,
    EosfwError,
    IllegalStateError,
    ReadStalledError,
    TopicAuthorizationError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel
from eosfw.records import LogBatch, OffsetRange
from eosfw.retry_timer import RetryTimer
from eosfw.security import explained
from eosfw.test_support import StoredBatch
from eosfw_memory.client.consumer.fetch_session_handler import FetchRequestData, FetchSessionHandler
from eosfw_memory.client.consumer.fetched_records import FetchedBatches, decode_to_lists, visible_records
from eosfw_memory.client.consumer.stored_batches import stored_batches
from eosfw_memory.client.metadata import ClusterMetadata
from eosfw_memory.client.transport.apis import FETCH, Fields, group_by_topic, milliseconds
from eosfw_memory.client.transport.channel import Channel, ClosedError, NotRetriableError
from eosfw_memory.client.transport.errors import error_for
from eosfw_memory.common.codes import Code
from eosfw_memory.common.log_errors import LogError

_ISOLATION = {IsolationLevel.READ_UNCOMMITTED: 0, IsolationLevel.READ_COMMITTED: 1}
_GRACE = 1.0
"""Seconds that a fetch may take beyond the deadline of its read."""
_NO_EPOCH, _NO_OFFSET, _CLIENT = -1, -1, -1
_SESSION_ERRORS = frozenset({Code.FETCH_SESSION_ID_NOT_FOUND, Code.INVALID_FETCH_SESSION_EPOCH})
"""Of which one recovers by naming all partitions again."""

B = TypeVar("B")
Decode = Callable[[TopicPartition, Mapping[str, Any], int], FetchedBatches[B]]
"""Takes from the fetch of a partition what is wanted from a position on."""


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """The settings of one reader; sizes in bytes, `fetch_wait` in seconds."""

    isolation: IsolationLevel
    headers: bool
    fetch_bytes: int
    partition_bytes: int
    fetch_wait: float


class MemoryReader:
    """A `LogReader` that speaks Kafka's protocol itself."""

    def __init__(self, settings: ReaderSettings, metadata: ClusterMetadata) -> None:
        self._settings = settings
        self._metadata = metadata
        self._runtime = metadata.runtime
        self._sessions: dict[Channel, FetchSessionHandler] = {}
        self._closed = False

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch]:
        return self._read_visible(ranges, stall_timeout, decode_to_lists)

    def read_arrow(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch]:
        # Only those who want Arrow have it, and numpy.
        try:
            from eosfw_memory.client.consumer.arrow_records import decode_to_columns
        except ImportError:
            return self.read(ranges, stall_timeout)
        return self._read_visible(ranges, stall_timeout, decode_to_columns)

    def read_stored(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[StoredBatch]:
        """The headers of all batches, as the broker stores them."""
        return self._read(
            ranges, stall_timeout, lambda one, fetched, position: stored_batches(fetched, position, ranges[one].end)
        )

    def _read_visible(
        self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float, decode: Callable[..., list[LogBatch]]
    ) -> Iterator[LogBatch]:
        to_columns = partial(decode, headers=self._settings.headers)

        def visible(one: TopicPartition, fetched: Mapping[str, Any], position: int) -> FetchedBatches[LogBatch]:
            return visible_records(one, fetched, OffsetRange(position, ranges[one].end), to_columns)

        return self._read(ranges, stall_timeout, visible)

    def _read(
        self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float, decode: Decode[B]
    ) -> Iterator[B]:
        if self._closed:
            raise IllegalStateError("this reader is closed")
        positions = {one: wanted.start for one, wanted in ranges.items() if wanted.start < wanted.end}
        ends = {one: wanted.end for one, wanted in ranges.items()}
        try:
            yield from self._read_all(positions, ends, stall_timeout, decode)
        except ClosedError as why:
            raise IllegalStateError(f"this reader was closed while it read: {why}") from why
        except TopicAuthorizationError as why:
            raise self._explained(why, *(one.topic for one in positions)) from why.__cause__

    def close(self) -> None:
        self._closed = True
        self._metadata.network.close()

    def _read_all(
        self,
        positions: dict[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
        stall_timeout: float,
        decode: Decode[B],
    ) -> Iterator[B]:
        timer = RetryTimer(self._runtime, self._runtime.now() + stall_timeout)
        failed: Exception | None = None
        while positions:
            moved = False
            try:
                for one, fetched in self._fetched(positions, timer):
                    found = self._decoded(one, fetched, positions[one], decode)
                    moved |= self._advance(positions, one, found.position, ends[one])
                    yield from found.batches
                failed = None
            except NotRetriableError as why:
                raise type(why)(f"{self._what()}: {why}") from why
            except (ClusterUnavailableError, _MovedError) as why:
                failed = why
                self._metadata.forget(*(one.topic for one in positions))
            if moved:
                timer = RetryTimer(self._runtime, self._runtime.now() + stall_timeout)
            elif not timer.remaining() or (failed is not None and not timer.backoff()):
                raise self._stalled(positions, ends, stall_timeout, failed)

    def _advance(self, positions: dict[TopicPartition, int], one: TopicPartition, to: int, end: int) -> bool:
        """Set a new position; a partition that moved goes last, so that each gets its share of a fetch."""
        if to <= positions[one]:
            return False
        del positions[one]
        if to < end:
            positions[one] = to
        return True

    def _fetched(
        self, positions: Mapping[TopicPartition, int], timer: RetryTimer
    ) -> Iterator[tuple[TopicPartition, Mapping[str, Any]]]:
        grouped = self._metadata.by_leader(tuple(positions), timer)
        # The leaders are asked one after the other, so they share the time to wait for new records.
        wait = min(self._settings.fetch_wait / len(grouped), timer.remaining())
        for channel, ones in grouped.items():
            yield from self._ask(channel, {one: positions[one] for one in ones}, wait, timer.deadline)

    def _ask(
        self, channel: Channel, wanted: Mapping[TopicPartition, int], wait: float, deadline: float
    ) -> Iterator[tuple[TopicPartition, Mapping[str, Any]]]:
        # A broker answers an empty fetch at the end of its wait, which may be at the deadline.
        session = self._sessions.setdefault(channel, FetchSessionHandler())
        try:
            answer: Any = channel.call(FETCH, self._request(session.next_fetch(wanted), wait), deadline + _GRACE)
        except BaseException:
            session.on_no_answer()
            raise
        code = answer.get("error_code", Code.NONE)
        session.on_answer(code, answer.get("session_id", 0))
        if code != Code.NONE and code not in _SESSION_ERRORS:
            raise error_for(code, READ, self._what())
        for topic in answer["responses"]:
            for each in topic["partitions"]:
                one = TopicPartition(topic["topic"], each["partition_index"])
                if one in wanted:
                    yield one, each

    def _request(self, fetch: FetchRequestData, wait: float) -> Fields:
        topics: dict[str, list[Fields]] = {}
        for one, position in fetch.to_send.items():
            partition = Fields(
                partition=one.partition,
                current_leader_epoch=_NO_EPOCH,
                fetch_offset=position,
                last_fetched_epoch=_NO_EPOCH,
                log_start_offset=_NO_OFFSET,
                partition_max_bytes=self._settings.partition_bytes,
            )
            topics.setdefault(one.topic, []).append(partition)
        return Fields(
            replica_id=_CLIENT,
            max_wait=milliseconds(wait),
            min_bytes=1,
            max_bytes=self._settings.fetch_bytes,
            isolation_level=_ISOLATION[self._settings.isolation],
            session_id=fetch.session_id,
            session_epoch=fetch.epoch,
            topics=[Fields(topic=name, partitions=partitions) for name, partitions in topics.items()],
            forgotten_topics_data=group_by_topic(
                fetch.to_forget, lambda name, numbers: Fields(topic=name, partitions=numbers)
            ),
            rack_id="",
        )

    def _decoded(
        self, one: TopicPartition, fetched: Mapping[str, Any], position: int, decode: Decode[B]
    ) -> FetchedBatches[B]:
        code = fetched["error_code"]
        if code == Code.NONE:
            try:
                return decode(one, fetched, position)
            except LogError as why:
                raise DamagedDataError(f"{self._what()}: {one} from offset {position}: {why}") from why
        what = f"{self._what()}: {one} from offset {position}"
        if code == Code.OFFSET_OUT_OF_RANGE:
            raise error_for(code, READ, what, f"the log begins at {fetched.get('log_start_offset', _NO_OFFSET)}")
        if code not in RETRIABLE:
            raise self._explained(error_for(code, READ, what), one.topic)
        if code in MOVED:
            # Also of a topic that this broker does not know: whether there is one, the metadata say.
            raise _MovedError(f"{what}: {Code(code).name}")
        return FetchedBatches([], position)

    # --- errors

    def _explained(self, why: EosfwError, *topics: str) -> EosfwError:
        return explained(why, self._metadata.authentication, ("Read",), "topic", list(dict.fromkeys(topics)))

    def _stalled(
        self,
        positions: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
        waited: float,
        failed: Exception | None,
    ) -> Exception:
        if isinstance(failed, ClusterUnavailableError):
            return ClusterUnavailableError(f"{self._what()}: {failed}")
        where = ", ".join(f"{one} at offset {at} of {ends[one]}" for one, at in positions.items())
        why = failed or "an open transaction holds back read_committed"
        text = f"{self._what()}: nothing came for {waited:g} s; waiting for {where}; {why}"
        return ReadStalledError(text, waiting=[(*one, at) for one, at in positions.items()])

    def _what(self) -> str:
        return f"read at {self._metadata.network.servers}"


class _MovedError(Exception):
    """Another broker leads a partition now."""
