"""The verification of committed changes against the database: in Spark, or in this process."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

from eosfw.protocols import Step, StepInput, Verdict
from eosfw_demo.environment import DemoEnvironment
from eosfw_demo.postgres_source.workload import COLUMNS
from eosfw_demo.progress import Progress
from eosfw_demo.spark import read_parquet, started_engine

STEP: Final = "live-flights"
TOMBSTONE: Final = "tombstone"
_NAMES: Final = {"r": "rows", "c": "inserts", "u": "updates", "d": "deletes", TOMBSTONE: "tombstones"}

_TABLE: Final = "changes"
_SCHEMA: Final = (
    "op STRING, after STRUCT<id INT, carrier STRING, flight INT, tail STRING, origin STRING, destination STRING, "
    "scheduled TIMESTAMP, departed INT, arrived INT>"
)
LAST: Final = """
SELECT last.* FROM (SELECT max_by(after, offset) AS last FROM changes WHERE op IS NOT NULL GROUP BY key)
WHERE last IS NOT NULL ORDER BY id
"""
"""The table: of each key the row behind its last change, which is null for a delete."""
COUNTS: Final = """
SELECT coalesce(get_json_object(CAST(value AS STRING), '$.op'), 'tombstone') AS op,
       count(*) AS records, count(DISTINCT struct(key, value)) AS changes
FROM changes GROUP BY ALL
"""

Row: TypeAlias = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """What a topic has."""

    records: Mapping[str, int]
    """How many records there are, by Debezium's `op`."""
    changes: Mapping[str, int]
    """How many of them differ: an envelope says where in the server's log its change is."""
    rows: Sequence[Row]
    """The table that the changes make, by id."""


def table_step(topic: str, folder: Path) -> Step:
    """The step that makes a table of the changes of a topic."""
    return Step(STEP, [StepInput(_TABLE, topic, format="json", schema=_SCHEMA)], str(folder), sql=LAST)


def in_spark(environment: DemoEnvironment, table: Path, progress: Progress) -> Committed:
    """What Spark finds; the table is in a folder then."""
    ranges, topic = environment.committed(), environment.names.topic
    with (
        TemporaryDirectory(prefix="eosfw-demo-") as scratch,
        started_engine(environment, table.parent, progress) as engine,
    ):
        progress.set_status("Spark makes a table of the committed changes")
        engine.run(table_step(topic, table), ranges)
        progress.log("Spark has made a table of the committed changes")
        progress.set_status("Spark counts duplicates")
        engine.run(Step("changes", [StepInput(_TABLE, topic)], f"{scratch}/changes", sql=COUNTS), ranges)
        progress.log("Spark has counted every change by its value")
        counts: Sequence[Mapping[str, Any]] = read_parquet(Path(scratch) / "changes")
    rows = sorted(map(_row, read_parquet(table)))
    return Committed({one["op"]: one["records"] for one in counts}, {one["op"]: one["changes"] for one in counts}, rows)


def without_spark(environment: DemoEnvironment, table: Path, progress: Progress) -> Committed:
    """The same in this process; the table is a CSV file."""
    progress.set_status("reading the committed records")
    found = list(environment.records(environment.committed()))
    progress.log(f"{len(found):,} committed records are read")
    committed = committed_of(found)
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(committed.rows)
    return committed


def committed_of(records: Iterable[tuple[bytes | None, bytes | None]]) -> Committed:
    """What keys and values are, those of a key in their order."""
    ops: Counter[str] = Counter()
    different: dict[tuple[bytes | None, bytes | None], str] = {}
    rows: dict[bytes | None, Row] = {}
    for key, value in records:
        change: Mapping[str, Any] = {"op": TOMBSTONE} if value is None else json.loads(value)
        ops[change["op"]] += 1
        different[key, value] = change["op"]
        if change.get("after") is not None:
            rows[key] = _row(change["after"])
        elif value is not None:
            rows.pop(key, None)
    return Committed(ops, Counter(different.values()), sorted(rows.values()))


def verdict(expected: Mapping[str, int], committed: Committed) -> Verdict:
    """Count changes that are there too often, and those that are missing."""
    wanted = {**expected, TOMBSTONE: expected["d"]}
    found = {op: (committed.records.get(op, 0), committed.changes.get(op, 0)) for op in {**committed.records, **wanted}}
    lines = {
        op: f"{_NAMES.get(op, op)}: {wanted.get(op, 0):,} expected, {records:,} found, {changes:,} of them different"
        for op, (records, changes) in found.items()
    }
    return Verdict(
        sum(records - min(changes, wanted.get(op, 0)) for op, (records, changes) in found.items()),
        sum(max(wanted.get(op, 0) - changes, 0) for op, (_, changes) in found.items()),
        [lines[op] for op, counts in found.items() if set(counts) != {wanted.get(op, 0)}],
    )


def differences(expected: Sequence[Row], found: Sequence[Row]) -> Sequence[str]:
    """The rows of one table that the other one has not, as texts."""
    ours, theirs = {row[0]: row for row in found}, {row[0]: row for row in expected}
    return [
        f"row {key}: expected {theirs.get(key)}, found {ours.get(key)}"
        for key in sorted(ours.keys() | theirs.keys(), key=str)
        if ours.get(key) != theirs.get(key)
    ]


def _row(columns: Mapping[str, Any]) -> Row:
    """A row with its time, which is in UTC, also where Spark's files do not say so."""
    scheduled = datetime.fromisoformat(str(columns["scheduled"])).replace(tzinfo=UTC)
    return tuple(scheduled if name == "scheduled" else columns[name] for name in COLUMNS)
