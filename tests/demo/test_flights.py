"""The flights are the real ones; both ways to aggregate and to judge agree with simple counting."""

from __future__ import annotations

import csv
from pathlib import Path

from eosfw_demo.file_source.aggregate import Row, aggregate, differences, rows_of
from eosfw_demo.file_source.verification import chunks, compare, write_csv
from eosfw_demo.flights import read_flights, split

HEADER = b"carrier,origin,dep_delay,distance"


def test_every_flight_of_2013_is_present_once() -> None:
    header, lines = read_flights()

    assert len(lines) == len(set(lines)) == 336_776
    assert header.startswith(b"year,month,day,dep_time")
    assert lines[0].startswith(b"2013,1,1,517,515,2,")


def test_the_split_files_hold_every_line_once_in_order(tmp_path: Path) -> None:
    lines = [b"%d,x" % n for n in range(1003)]

    paths = split(b"a,b", lines, tmp_path, 4)

    contents = [path.read_bytes().splitlines() for path in paths]
    assert [content[0] for content in contents] == [b"a,b"] * 4
    assert [line for content in contents for line in content[1:]] == lines
    assert max(map(len, contents)) - min(map(len, contents)) <= 1
    assert all(path.read_bytes().endswith(b"\n") for path in paths)


def test_the_aggregation_leaves_missing_delays_out() -> None:
    rows = aggregate(HEADER, [b"UA,EWR,2,100", b"UA,EWR,NA,50", b"AA,JFK,NA,7", b"UA,EWR,-5,1"])

    assert rows == {
        ("AA", "JFK"): Row("AA", "JFK", 1, 0, None, 7, None),
        ("UA", "EWR"): Row("UA", "EWR", 3, 2, -3, 151, -1.5),
    }


def test_differing_rows_of_both_sides_are_named() -> None:
    expected = aggregate(HEADER, [b"UA,EWR,2,100", b"AA,JFK,1,7"])
    found = rows_of([row._asdict() for row in aggregate(HEADER, [b"UA,EWR,2,101", b"DL,LGA,1,7"]).values()])

    named = [line.split(":")[0] for line in differences(expected, found)]
    assert named == [
        "AA from JFK",
        "DL from LGA",
        "UA from EWR",
    ]
    assert not differences(expected, expected)


def test_duplicates_and_missing_lines_are_counted_by_value() -> None:
    verdict = compare([b"a", b"b", b"c", b"d"], [b"b", b"a", b"b", b"b", b"d", b"stranger"])

    assert (verdict.duplicates, verdict.missing) == (3, 1)
    assert set(verdict.examples) == {"b (+2)", "stranger (+1)", "c (-1)"}


def test_equal_lines_compare_clean_and_chunks_keep_every_line() -> None:
    lines = [b"%d" % n for n in range(45_000)]

    verdict = compare(lines, list(reversed(lines)))

    assert (verdict.duplicates, verdict.missing, list(verdict.examples)) == (0, 0, [])
    assert [line for chunk in chunks(lines) for line in chunk] == lines


def test_the_result_without_spark_is_a_csv_with_a_header(tmp_path: Path) -> None:
    write_csv(tmp_path / "rows.csv", aggregate(HEADER, [b"UA,EWR,2,100"]).values())

    with (tmp_path / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))

    assert rows[0]["carrier"] == "UA"
    assert list(rows[0]) == list(Row._fields)
