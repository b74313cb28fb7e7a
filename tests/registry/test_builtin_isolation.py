"""The built-in reader accounts for every offset that it does not show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from eosfw.builtin.isolation import ReadCommitted
from eosfw.ids import TopicPartition
from eosfw.protocols import ArrowIsolationReader, Gap, IsolationLevel
from eosfw.records import LogBatch, OffsetRange

P = TopicPartition("t", 0)
Q = TopicPartition("t", 1)


class Log:
    """A reader and an admin over batches laid down by a test."""

    def __init__(self, *batches: LogBatch) -> None:
        self.batches = batches
        self.closed = 0

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch]:
        return iter([one for one in self.batches if TopicPartition(one.topic, one.partition) in ranges])

    def partitions(self, topics: Any) -> Mapping[str, int]:
        return dict.fromkeys(topics, 2)

    def log_start_offsets(self, partitions: Any) -> Mapping[TopicPartition, int]:
        return {P: 5, Q: 7}

    def end_offsets(self, partitions: Any, isolation: IsolationLevel) -> Mapping[TopicPartition, int]:
        return {P: 9, Q: 7} if isolation is IsolationLevel.READ_COMMITTED else {P: 12, Q: 7}

    def close(self) -> None:
        self.closed += 1


def batch(*offsets: int) -> LogBatch:
    values = [b"%d" % offset for offset in offsets]
    return LogBatch("t", 0, offsets, [None] * len(values), values, [0] * len(values))


def seen(log: Log, start: int, end: int) -> list[int | tuple[int, int]]:
    found: list[int | tuple[int, int]] = []
    for one in ReadCommitted(log, log).read({P: OffsetRange(start, end)}, 1.0):
        found += [(one.offsets.start, one.offsets.end)] if isinstance(one, Gap) else list(one.offsets)
    return found


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ([batch(0, 1, 2)], [0, 1, 2]),
        ([batch(1, 2)], [(0, 1), 1, 2]),
        ([batch(0), batch(2)], [0, (1, 2), 2]),
        ([batch(0, 2)], [(1, 2), 0, 2]),
        ([batch(0, 1)], [0, 1, (2, 3)]),
        ([], [(0, 3)]),
    ],
    ids=["dense", "leading", "between", "within", "trailing", "empty"],
)
def test_every_offset_of_a_range_is_a_record_or_a_gap(
    batches: list[LogBatch], expected: list[int | tuple[int, int]]
) -> None:
    assert seen(Log(*batches), 0, 3) == expected


def test_an_empty_range_is_not_read() -> None:
    assert seen(Log(batch(0)), 4, 4) == []


def test_bounds_go_from_the_log_start_to_the_last_stable_offset() -> None:
    log = Log()

    assert ReadCommitted(log, log).bounds(["t"]) == {P: OffsetRange(5, 9), Q: OffsetRange(7, 7)}


@pytest.mark.parametrize("runs", [(1, 1, 1), (7, 1, 8), (9,), (1, 16, 3), (5, 4, 2, 1)])
def test_each_run_of_offsets_ends_at_a_gap(runs) -> None:
    offsets: list[int] = []
    for run in runs:
        start = offsets[-1] + 3 if offsets else 4
        offsets += range(start, start + run)
    missing = [(one + 1, two) for one, two in pairwise(offsets) if two - one > 1]

    assert [each for each in seen(Log(batch(*offsets)), 4, offsets[-1] + 1) if isinstance(each, tuple)] == missing


class ArrowLog(Log):
    """A log whose backend has columns for Arrow, too."""

    def read_arrow(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch]:
        return self.read(ranges, stall_timeout)


class Masked(ReadCommitted):
    """Shows no value."""

    name = "masked"

    def read(self, ranges: Mapping[TopicPartition, OffsetRange], stall_timeout: float) -> Iterator[LogBatch | Gap]:
        for one in super().read(ranges, stall_timeout):
            yield one if isinstance(one, Gap) else replace(one, values=[b"***"] * len(one.values))


class MaskedMore(Masked):
    """Overrides nothing of it."""


@pytest.mark.parametrize("kind", [Masked, MaskedMore])
def test_a_reader_that_changes_what_is_read_changes_it_for_arrow_too(kind: type[ReadCommitted]) -> None:
    log = ArrowLog(batch(0, 1))
    reader = kind(log, log)

    assert isinstance(reader, ArrowIsolationReader)
    (shown,) = reader.read_arrow({P: OffsetRange(0, 2)}, 1.0)

    assert isinstance(shown, LogBatch)
    assert shown.values == [b"***"] * 2
