"""Timestamps as `timestamp.granularity` says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from eosfw.data import INT64, STRING, TIMESTAMP

from .reading import execute, reading, sqlite_properties

MICROS = 1_577_836_800_123_456


@pytest.mark.parametrize(
    ("granularity", "schema", "value"),
    [
        ("connect_logical", TIMESTAMP, datetime(2020, 1, 1, 0, 0, 0, 123_456, UTC)),
        ("micros_long", INT64, MICROS),
        ("micros_string", STRING, str(MICROS)),
        ("micros_iso_datetime_string", STRING, "2020-01-01T09:00:00.123456"),
        ("nanos_long", INT64, MICROS * 1000),
        ("nanos_string", STRING, f"{MICROS}000"),
        ("nanos_iso_datetime_string", STRING, "2020-01-01T09:00:00.123456000"),
    ],
)
def test_timestamps_have_the_form_of_their_granularity(tmp_path, granularity, schema, value):
    """SQL-15: dates as text in the time zone of the database, as in Confluent's connector; modes work with all."""
    execute(tmp_path, "CREATE TABLE orders (id INTEGER PRIMARY KEY, changed TIMESTAMP NOT NULL)")
    execute(tmp_path, "INSERT INTO orders VALUES (1, '2020-01-01 09:00:00.123456')")
    given = sqlite_properties(tmp_path, "timestamp", timestamp_column_name="changed", db_timezone="Asia/Tokyo")
    with reading(given | {"timestamp.granularity": granularity}) as task:
        batch = task.task.poll()
        assert task.task.poll() is None
    assert batch.value_schema.field("changed") == schema
    assert [row["changed"] for row in batch.values] == [value]
