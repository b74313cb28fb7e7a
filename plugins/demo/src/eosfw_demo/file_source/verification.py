"""The verification of committed records against the CSV: in Spark, or in this process."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from eosfw.count_difference import CountDifference
from eosfw.protocols import Step, StepInput, Verdict
from eosfw_demo.environment import DemoEnvironment
from eosfw_demo.file_source.aggregate import SQL, TOPIC_TABLE, Row, Rows, aggregate, rows_of
from eosfw_demo.flights import Flights
from eosfw_demo.progress import Progress
from eosfw_demo.spark import read_parquet, started_engine

CHUNK = 20_000
EXAMPLES = 5
STEP = "flights-by-carrier"


def step(topic: str, table: Path) -> Step:
    """The step that aggregates the flights of a topic into a folder."""
    return Step(STEP, [StepInput(TOPIC_TABLE, topic)], str(table), sql=SQL)


def in_spark(
    environment: DemoEnvironment, lines: Sequence[bytes], table: Path, progress: Progress
) -> tuple[Verdict, Rows]:
    """Count duplicates and missing lines, and aggregate into a folder, in Spark."""
    ranges = environment.committed()
    with started_engine(environment, table.parent, progress) as engine:
        progress.set_status("Spark aggregates the committed records")
        engine.run(step(environment.names.topic, table), ranges)
        progress.log("Spark has aggregated the committed records")
        progress.set_status("Spark counts duplicates")
        verdict = engine.verdict(ranges, "value", chunks(lines))
        progress.log("Spark has compared every line by its value")
    return verdict, rows_of(read_parquet(table))


def without_spark(
    environment: DemoEnvironment, flights: Flights, table: Path, progress: Progress
) -> tuple[Verdict, Rows]:
    """The same in this process, into a CSV file."""
    progress.set_status("reading the committed records")
    found = [value or b"" for _, value in environment.records(environment.committed())]
    progress.log(f"{len(found):,} committed records are read")
    rows = aggregate(flights.header, found)
    write_csv(table, rows.values())
    return compare(flights.lines, found), rows


def compare(expected: Sequence[bytes], found: Sequence[bytes]) -> Verdict:
    """Count by value the lines that appear too often or are missing."""
    balance = Counter(found)
    balance.subtract(expected)
    difference = CountDifference(EXAMPLES)
    for line, excess in balance.items():
        if excess:
            difference.add_excess(line, excess)
    examples = [f"{one.identity.decode(errors='replace')} ({one.excess:+})" for one in difference.examples]
    return Verdict(difference.excess, difference.missing, examples)


def chunks(lines: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    """The expected lines in chunks of `CHUNK`."""
    for start in range(0, len(lines), CHUNK):
        yield lines[start : start + CHUNK]


def write_csv(path: Path, rows: Iterable[Row]) -> None:
    """Write the rows after a header line."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        writer.writerows(rows)
