"""What a worker has read of its topic of source offsets (the `data` of Kafka Connect's `KafkaOffsetBackingStore`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from eosfw.concurrency import Runtime
from eosfw.ids import TopicPartition
from eosfw.records import LogBatch, OffsetRange

Ranges = Mapping[TopicPartition, OffsetRange]
Row = tuple[int, bytes | None, bytes | None, int]
"""Offset, key, value and timestamp of a record."""
_NO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id of every topic of a broker before Kafka 2.8."""


class _PartitionRecords:
    """The newest record of each key of one partition; not thread-safe."""

    def __init__(self, start: int, asked_at: float) -> None:
        self.start = self.position = start
        self.last: Row | None = None
        """The last record that was read."""
        self.newest: dict[bytes, Row] = {}
        """In the order of the offsets; nothing of keys that were deleted."""
        self._asked_at = asked_at
        """When the end was asked for up to which it was read."""

    def is_of(self, found: OffsetRange, asked_at: float) -> bool:
        """Whether the log begins as it did, and has not become shorter, as it does when a broker loses writes."""
        return self.start == found.start and (self.position <= found.end or asked_at <= self._asked_at)

    def unread(self, end: int) -> OffsetRange:
        """What is to be read up to an end: the last record again, by which the log is recognised, and what follows."""
        return OffsetRange(self.start if self.last is None else self.last[0], end)

    def apply(self, row: Row, asked_at: float) -> None:
        offset, key, value, _ = row
        if offset >= self.position:
            self.last = row
            self.advance(offset + 1, asked_at)
            if key is not None:
                self.newest.pop(key, None)  # so that it comes last
                if value is not None:
                    self.newest[key] = row

    def advance(self, position: int, asked_at: float) -> None:
        """Note that everything below a position was read."""
        if position > self.position:
            self.position, self._asked_at = position, max(self._asked_at, asked_at)


class OffsetRecords:
    """The newest record of each key, which every reader reads on from where the one before ended; thread-safe.

    A task that starts has to see the end of the topic, but not to read its beginning again: a thousand tasks that start
    would read a thousand records each. The topic is compacted, so nobody may need more than the newest record of a key.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._lock, self._now = runtime.lock(), runtime.now
        self._topic_id = _NO_ID
        self._partitions: dict[TopicPartition, _PartitionRecords] = {}

    def read(
        self, topic_id: str, ask: Callable[[], Ranges], read: Callable[[Ranges], Iterable[LogBatch]]
    ) -> Sequence[LogBatch]:
        """The newest records of a topic, up to the ends that `ask` finds; `read` reads what nobody has read yet."""
        while True:
            asked_at = self._now()
            ranges = ask()
            with self._lock:
                partitions = self._partitions_of(topic_id, ranges, asked_at)
                last = {one: known.last for one, known in partitions.items()}
                unread = {one: known.unread(ranges[one].end) for one, known in partitions.items()}
                unread = {one: found for one, found in unread.items() if found.start < found.end}
            strange = {one for one in unread if last[one] is not None}
            for batch in read(unread) if unread else ():
                where = TopicPartition(batch.topic, batch.partition)
                rows = zip(batch.offsets, batch.keys, batch.values, batch.timestamps, strict=True)
                if where in strange and next(rows, None) == last[where]:
                    strange.remove(where)
                if where not in strange:
                    self._apply(partitions[where], rows, asked_at)
            if not strange:
                return self._up_to(partitions, unread, asked_at)
            self._forget(partitions, strange)

    def _partitions_of(self, topic_id: str, ranges: Ranges, asked_at: float) -> dict[TopicPartition, _PartitionRecords]:
        before = self._partitions if topic_id == self._topic_id != _NO_ID else {}
        known = {one: before[one] for one in ranges if one in before and before[one].is_of(ranges[one], asked_at)}
        # New objects for what is new: whoever reads the topic as it was before goes on with those of that one.
        new = {one: _PartitionRecords(found.start, asked_at) for one, found in ranges.items() if one not in known}
        self._topic_id, self._partitions = topic_id, known | new
        return self._partitions

    def _apply(self, known: _PartitionRecords, rows: Iterable[Row], asked_at: float) -> None:
        # Several readers may read the same offsets at the same time: each record is applied once, in order.
        with self._lock:
            for row in rows:
                known.apply(row, asked_at)

    def _up_to(
        self, partitions: Mapping[TopicPartition, _PartitionRecords], ranges: Ranges, asked_at: float
    ) -> Sequence[LogBatch]:
        with self._lock:
            for one, found in ranges.items():
                partitions[one].advance(found.end, asked_at)  # behind the last record there may be control records
            return [_batch(one, known.newest.values()) for one, known in partitions.items() if known.newest]

    def _forget(
        self, partitions: Mapping[TopicPartition, _PartitionRecords], strange: Collection[TopicPartition]
    ) -> None:
        """Have partitions read from the beginning: a broker that lost its last writes has written others since."""
        with self._lock:
            gone = [one for one in strange if self._partitions.get(one) is partitions[one]]
            self._partitions = {one: known for one, known in self._partitions.items() if one not in gone}


def _batch(where: TopicPartition, rows: Iterable[Row]) -> LogBatch:
    offsets, keys, values, timestamps = zip(*rows, strict=True)
    return LogBatch(where.topic, where.partition, offsets, keys, values, timestamps)
