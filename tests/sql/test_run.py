"""Several tables, several tasks, under a worker."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from eosfw_sql.connector import SqlSourceConnector

from .reading import execute, sqlite_properties

ROWS = ", ".join(f"({number}, '2020-01-01 00:00:0{number // 8}')" for number in range(20))


@pytest.mark.eos_zombie(at="commit", nth=2)
def test_zombies_among_several_tables_and_tasks_add_nothing(eos, tmp_path):
    """SQL-11: mode timestamp+incrementing, three tables in two tasks."""
    for table in "abc":
        execute(
            tmp_path,
            f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, changed TIMESTAMP NOT NULL)",
            f"INSERT INTO {table} VALUES {ROWS}",
        )
    properties = sqlite_properties(
        tmp_path, "timestamp+incrementing", timestamp_column_name="changed", batch_max_rows=5, topic_prefix="t-"
    )
    run = eos.run(SqlSourceConnector, properties | {"tasks.max": 2, "value.converter": "json"})

    assert sorted(run.topics) == ["t-a", "t-b", "t-c"]
    for topic in run.topics:
        counts = Counter(json.loads(value)["payload"]["id"] for value in eos.topic(topic).values())
        assert counts == Counter(range(20))
