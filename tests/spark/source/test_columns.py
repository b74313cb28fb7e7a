"""How batches of a log become Arrow batches."""

from __future__ import annotations

import pytest

from eosfw.errors import DamagedDataError
from eosfw.records import LogBatch
from eosfw_spark.source import columns
from eosfw_spark.source.columns import arrow_batches, arrow_schema


def batch(start: int, count: int, size: int = 1) -> LogBatch:
    return LogBatch("t", 3, range(start, start + count), [None] * count, [b"v" * size] * count, [0] * count)


def test_small_batches_are_gathered_into_large_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "ROWS", 100)

    found = list(arrow_batches((batch(at, 30) for at in range(0, 240, 30)), headers=False))

    assert [each.num_rows for each in found] == [120, 120]
    assert [offset for each in found for offset in each.column("offset").to_pylist()] == list(range(240))


def test_large_records_end_a_batch_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "BYTES", 10_000)

    found = list(arrow_batches((batch(at, 2, size=4_000) for at in range(0, 8, 2)), headers=False))

    assert [each.num_rows for each in found] == [4, 4]


def test_headers_that_were_not_read_are_null() -> None:
    (found,) = arrow_batches([batch(0, 2)], headers=True)

    assert found.schema == arrow_schema(headers=True)
    assert found.column("headers").to_pylist() == [None, None]


@pytest.mark.parametrize("time", [2**63 - 1, 1_700_000_000_000_000_000])
def test_record_whose_time_spark_cannot_hold_is_named(time: int) -> None:
    """Brokers before Kafka 4 take any time, such as one in nanoseconds."""
    records = LogBatch("t", 3, [7, 9], [None] * 2, [b"v"] * 2, [0, time])

    with pytest.raises(DamagedDataError, match=f"^t-3@9 has the timestamp {time}, .* begin behind that record$"):
        list(arrow_batches([records], headers=False))


def test_an_empty_read_gives_no_arrow_batches() -> None:
    assert list(arrow_batches([], headers=False)) == []


def test_the_schemas_of_arrow_and_spark_are_one() -> None:
    from pyspark.sql.pandas.types import from_arrow_schema

    assert from_arrow_schema(arrow_schema(headers=True)) == columns.spark_schema(headers=True)
