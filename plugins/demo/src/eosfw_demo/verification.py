"""The verification of committed records against the CSV: in Spark, or in this process."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eosfw.count_difference import CountDifference
from eosfw.protocols import Step, StepInput, Verdict
from eosfw_demo.aggregate import SQL, TOPIC_TABLE, Row, Rows, aggregate, rows_of
from eosfw_demo.environment import DemoEnvironment, DemoOptions
from eosfw_demo.flights import Flights
from eosfw_demo.progress import Progress

CHUNK = 20_000
EXAMPLES = 5
STEP = "flights-by-carrier"
SUFFIX = "-without-exactly-once"
"""The suffix of files of a run without exactly-once, so that they do not replace the others."""


@dataclass(frozen=True, slots=True)
class VerificationResult:
    """The verdict, the aggregation of the committed records, and its file."""

    verdict: Verdict
    rows: Rows
    table: Path


def verify(
    environment: DemoEnvironment,
    options: DemoOptions,
    flights: Flights,
    output: Path,
    progress: Progress,
) -> VerificationResult:
    """Count duplicates and missing lines, aggregate, write the result to the output folder."""
    table = output / (STEP if options.exactly_once else STEP + SUFFIX)
    if options.spark:
        return _in_spark(environment, flights.lines, table, progress)
    return _without_spark(environment, flights, table.with_suffix(".csv"), progress)


def _in_spark(
    environment: DemoEnvironment, lines: Sequence[bytes], table: Path, progress: Progress
) -> VerificationResult:
    topic = environment.names.topic
    step = Step(STEP, [StepInput(TOPIC_TABLE, topic)], str(table), sql=SQL)
    ranges = environment.committed()
    progress.set_status("Spark starts")
    run = environment.run
    engine = run.plugins.step_engine().start(
        run.backend_name, run.client_properties, str(table.parent), run.reader_choice
    )
    try:
        progress.log("Spark is up")
        progress.set_status("Spark aggregates the committed records")
        engine.run(step, ranges)
        progress.log("Spark has aggregated the committed records")
        progress.set_status("Spark counts duplicates")
        verdict = engine.verdict(ranges, "value", chunks(lines))
        progress.log("Spark has compared every line by its value")
    finally:
        engine.close()
    return VerificationResult(verdict, rows_of(_read_parquet(table)), table)


def _without_spark(
    environment: DemoEnvironment, flights: Flights, table: Path, progress: Progress
) -> VerificationResult:
    progress.set_status("reading the committed records")
    found = list(environment.values(environment.committed()))
    progress.log(f"{len(found):,} committed records are read")
    rows = aggregate(flights.header, found)
    write_csv(table, rows.values())
    return VerificationResult(compare(flights.lines, found), rows, table)


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


def _read_parquet(folder: Path) -> list[Mapping[str, object]]:
    from pyarrow import parquet  # installed with eosfw-spark, which writes these folders

    rows: list[Mapping[str, object]] = parquet.read_table(folder).to_pylist()
    return rows


def write_csv(path: Path, rows: Iterable[Row]) -> None:
    """Write the rows after a header line."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        writer.writerows(rows)
