"""Python's collector of cycles is paused while a task reads, and runs again whatever ends the read."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from eosfw.records import LogBatch
from eosfw_spark.source import batch_reader
from eosfw_spark.source.batch_reader import read_arrow
from eosfw_spark.source.columns import ROWS
from eosfw_spark.source.options import ReadOptions, parse

OPTIONS: ReadOptions = parse({"kafka.bootstrap.servers": "h:1", "subscribe": "t"})


def read(monkeypatch: pytest.MonkeyPatch, *, fail: bool = False) -> Iterator[Any]:
    def records(splits: Sequence[Any], options: ReadOptions) -> Iterator[LogBatch]:
        for start in (0, ROWS):
            assert not gc.isenabled()
            yield LogBatch("t", 0, list(range(start, start + ROWS)), [None] * ROWS, [b"v"] * ROWS, [0] * ROWS)
        if fail:
            raise ZeroDivisionError

    monkeypatch.setattr(batch_reader, "_records", records)
    return read_arrow([], OPTIONS)


def test_the_collector_runs_again_whatever_ends_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(each.num_rows for each in read(monkeypatch)) == 2 * ROWS
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        list(read(monkeypatch, fail=True))
    assert gc.isenabled()
    unfinished: Any = read(monkeypatch)
    next(unfinished)
    unfinished.close()
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.disable()
    try:
        list(read(monkeypatch))
        assert not gc.isenabled()
    finally:
        gc.enable()
