"""The aggregation of flights: in Python from CSV lines, and as SQL for Spark from committed records."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

MISSING: Final = "NA"
TOPIC_TABLE: Final = "flights"

SQL: Final = """
SELECT f.carrier, f.origin, count(*) AS flights, count(f.dep_delay) AS departed,
       sum(f.dep_delay) AS minutes_late, sum(f.distance) AS miles, avg(f.dep_delay) AS mean_delay
FROM (
  SELECT from_csv(
    CAST(value AS STRING),
    'year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT,
     arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT, distance INT,
     hour INT, minute INT, time_hour STRING',
    map('nullValue', 'NA')
  ) AS f
  FROM flights
)
GROUP BY f.carrier, f.origin
ORDER BY f.carrier, f.origin
"""


class Row(NamedTuple):
    """The flights of one carrier from one airport."""

    carrier: str
    origin: str
    flights: int
    departed: int
    minutes_late: int | None
    miles: int
    mean_delay: float | None


Rows: TypeAlias = Mapping[tuple[str, str], Row]


@dataclass(slots=True)
class _Sums:
    flights: int = 0
    departed: int = 0
    late: int = 0
    miles: int = 0


def aggregate(header: bytes, lines: Iterable[bytes]) -> Rows:
    """Compute the result of the SQL without Spark. All sums are of integers, so both results must be equal."""
    columns = header.decode().split(",")
    carrier, origin, delay, distance = map(columns.index, ("carrier", "origin", "dep_delay", "distance"))
    sums: dict[tuple[str, str], _Sums] = {}
    for fields in csv.reader(line.decode() for line in lines):
        found = sums.setdefault((fields[carrier], fields[origin]), _Sums())
        found.flights += 1
        found.miles += int(fields[distance])
        if fields[delay] != MISSING:
            found.departed += 1
            found.late += int(fields[delay])
    return {key: _row(key, found) for key, found in sorted(sums.items())}


def _row(key: tuple[str, str], sums: _Sums) -> Row:
    late = sums.late if sums.departed else None
    mean = sums.late / sums.departed if sums.departed else None
    return Row(*key, sums.flights, sums.departed, late, sums.miles, mean)


def rows_of(table: Iterable[Mapping[str, object]]) -> Rows:
    """The rows of a columnar file, by carrier and origin."""
    rows = [Row(**row) for row in table]  # type: ignore[arg-type]  # a column of another type fails the comparison
    return {(row.carrier, row.origin): row for row in rows}


def differences(expected: Rows, found: Rows) -> Sequence[str]:
    """The differences of two aggregations, as texts."""
    keys = sorted(expected.keys() | found.keys())
    return [
        f"{carrier} from {origin}: expected {expected.get((carrier, origin))}, found {found.get((carrier, origin))}"
        for carrier, origin in keys
        if expected.get((carrier, origin)) != found.get((carrier, origin))
    ]
