"""Readers of topics at one of Kafka's isolation levels, which also tell the offsets that they hide (KIP-98)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import ClassVar, Self

from eosfw.concurrency import Runtime
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, ArrowLogReader, Backend, Gap, GapReason, IsolationLevel, LogReader
from eosfw.records import LogBatch, OffsetRange

__all__ = ["ReadCommitted", "ReadUncommitted", "gaps"]

_Read = Callable[[Mapping[TopicPartition, OffsetRange], float], Iterator[LogBatch]]


class _IsolationLevelReader:
    """A backend's reader of one isolation level."""

    level: ClassVar[IsolationLevel]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "read" in vars(cls) and "read_arrow" not in vars(cls):
            # A class that shows less, or masks something, would otherwise show all of it to Spark.
            cls.read_arrow = cls.read  # type: ignore[method-assign]

    def __init__(self, reader: LogReader, admin: Admin) -> None:
        self._reader = reader
        self._admin = admin

    @classmethod
    def over(cls, backend: Backend, runtime: Runtime, *, headers: bool = False) -> Self:
        """Make a reader over a backend."""
        return cls(backend.reader(cls.level, headers=headers), backend.admin())

    def bounds(self, topics: Collection[str]) -> Mapping[TopicPartition, OffsetRange]:
        """From the log start to the last offset visible now, taken once, for every partition of the topics."""
        counts = self._admin.partitions(topics)
        partitions = [TopicPartition(topic, p) for topic, count in sorted(counts.items()) for p in range(count)]
        ends = self._admin.end_offsets(partitions, self.level)
        starts = self._admin.log_start_offsets(partitions)
        # The start was asked later, and retention or DeleteRecords may have moved it past the end.
        return {one: OffsetRange(starts[one], max(starts[one], ends[one])) for one in partitions}

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch | Gap]:
        """Yield the visible records of the ranges, and a gap wherever offsets are not shown."""
        return self._with_gaps(self._reader.read, ranges, stall_timeout)

    def read_arrow(
        self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float
    ) -> Iterator[LogBatch | Gap]:
        """As `read`, with columns that Arrow takes as they are, if the backend has them."""
        read = self._reader.read_arrow if isinstance(self._reader, ArrowLogReader) else self._reader.read
        return self._with_gaps(read, ranges, stall_timeout)

    def _with_gaps(
        self, read: _Read, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float
    ) -> Iterator[LogBatch | Gap]:
        wanted = {partition: r for partition, r in ranges.items() if r.start < r.end}
        position = {partition: r.start for partition, r in wanted.items()}
        for batch in read(wanted, stall_timeout):
            partition = TopicPartition(batch.topic, batch.partition)
            yield from gaps(partition, position[partition], batch)
            position[partition] = batch.offsets[-1] + 1
            yield batch
        for partition, r in wanted.items():
            if position[partition] < r.end:
                yield _hidden(partition, position[partition], r.end)

    def close(self) -> None:
        """Close the clients."""
        self._reader.close()
        self._admin.close()


class ReadCommitted(_IsolationLevelReader):
    """Shows committed records only."""

    name: ClassVar[str] = "read_committed"
    level = IsolationLevel.READ_COMMITTED


class ReadUncommitted(_IsolationLevelReader):
    """Shows all records, also those of open and aborted transactions."""

    name: ClassVar[str] = "read_uncommitted"
    level = IsolationLevel.READ_UNCOMMITTED


def gaps(partition: TopicPartition, position: int, batch: LogBatch) -> Iterator[Gap]:
    """The offsets missing between `position` and the batch, and within it."""
    if position < batch.offsets[0]:
        yield _hidden(partition, position, batch.offsets[0])
    if batch.offsets[-1] - batch.offsets[0] + 1 == len(batch):
        return  # nothing is missing, so that its end need not be searched
    behind = _run_end(batch.offsets, 0)
    while behind < len(batch):
        yield _hidden(partition, batch.offsets[behind - 1] + 1, batch.offsets[behind])
        behind = _run_end(batch.offsets, behind)


def _run_end(offsets: Sequence[int], at: int) -> int:
    """The index behind the consecutive offsets that begin at an index.

    Few of many offsets have a gap behind them, so that steps grow until one jumps over a gap.
    """
    number, step = offsets[at] - at, 1
    while at + step < len(offsets) and offsets[at + step] - at - step == number:
        at, step = at + step, 2 * step
    end = min(len(offsets), at + step)
    return bisect_right(range(end), number, at + 1, end, key=lambda index: offsets[index] - index)


def _hidden(partition: TopicPartition, start: int, end: int) -> Gap:
    return Gap(partition, OffsetRange(start, end), GapReason.HIDDEN)
