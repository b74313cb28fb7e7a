"""The life of flights in a database: planned, departed or cancelled, hour by hour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eosfw_demo.flights import Flights

if TYPE_CHECKING:
    from psycopg import Connection

    from eosfw.concurrency import Runtime

USER: Final = "postgres"
COLUMNS: Final = ("id", "carrier", "flight", "tail", "origin", "destination", "scheduled", "departed", "arrived")
"""Of the table; `departed` and `arrived` are minutes behind the schedule, null before."""
_MONTHS: Final = (b"1", b"2")
_INTEGERS: Final = ("year", "month", "day", "hour")
_CREATE: Final = """
CREATE UNLOGGED TABLE reports ({columns}, id int GENERATED ALWAYS AS IDENTITY);
CREATE TABLE flights (
  id int PRIMARY KEY, carrier text NOT NULL, flight int NOT NULL, tail text, origin text NOT NULL,
  destination text NOT NULL, scheduled timestamptz NOT NULL, departed int, arrived int
);
CREATE VIEW schedule AS
  SELECT id, carrier, flight::int, tailnum, origin, dest, time_hour::timestamptz, month, day, hour FROM reports;
CREATE PROCEDURE fly() LANGUAGE plpgsql AS $$
DECLARE
  now record;
BEGIN
  FOR now IN SELECT DISTINCT day, hour FROM reports ORDER BY day, hour LOOP
    INSERT INTO flights
      SELECT id, carrier, flight, tailnum, origin, dest, time_hour FROM schedule AS s
      WHERE s.month = 2 AND s.day = now.day AND s.hour = now.hour;
    UPDATE flights SET departed = dep_delay::int, arrived = arr_delay::int FROM reports AS r
      WHERE flights.id = r.id AND dep_time IS NOT NULL AND r.month = 1 AND r.day = now.day AND r.hour = now.hour;
    DELETE FROM flights USING reports AS r
      WHERE flights.id = r.id AND dep_time IS NULL AND r.month = 1 AND r.day = now.day AND r.hour = now.hour;
    COMMIT;
  END LOOP;
END $$
"""
"""In each hour of January flights of February are planned, and flights depart or are cancelled."""
_PLAN: Final = """
CREATE INDEX ON reports (day, hour);
INSERT INTO flights SELECT id, carrier, flight, tailnum, origin, dest, time_hour FROM schedule WHERE month = 1;
ANALYZE
"""
_COUNT: Final = """
SELECT count(*) FILTER (WHERE month = 1), count(*) FILTER (WHERE month = 2), count(dep_time) FILTER (WHERE month = 1),
       count(*) FILTER (WHERE month = 1 AND dep_time IS NULL), count(DISTINCT (day, hour)) FROM reports
"""
_STREAMED = "SELECT FROM pg_stat_replication WHERE state IN ('catchup', 'streaming')"
_LOOK = 0.02


@dataclass(frozen=True, slots=True)
class Counts:
    """How many rows and changes there are, by Debezium's `op`: `r` for rows that are there before."""

    by_op: Mapping[str, int]
    transactions: int
    """Of the database."""

    @property
    def changes(self) -> int:
        """Inserts, updates and deletes."""
        return sum(count for op, count in self.by_op.items() if op != "r")

    @property
    def records(self) -> int:
        """Records of a topic: a delete has a tombstone, too."""
        return sum(self.by_op.values()) + self.by_op["d"]


class Workload:
    """Changes the table as soon as the connector has read its rows, in a thread of its own."""

    def __init__(self, host: str, runtime: Runtime) -> None:
        self._host, self._runtime = host, runtime
        self._stopped = False
        self._failure: Exception | None = None

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection whose statements are transactions of their own."""
        import psycopg  # with the extra `postgres`

        with psycopg.connect(host=self._host, user=USER, dbname=USER, autocommit=True) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection

    def prepare(self, flights: Flights) -> Counts:
        """Plan January; give what will happen."""
        lines = [line for line in flights.lines if line.split(b",", 2)[1] in _MONTHS]
        names = flights.header.decode().split(",")
        with self.connection() as connection:
            columns = ", ".join(f"{name} {'int' if name in _INTEGERS else 'text'}" for name in names)
            connection.execute(_CREATE.format(columns=columns))
            with (
                connection.cursor() as cursor,
                cursor.copy(f"COPY reports ({', '.join(names)}) FROM STDIN (FORMAT csv, NULL 'NA')") as copy,
            ):
                copy.write(b"\n".join([*lines, b""]))
            connection.execute(_PLAN)
            *counts, transactions = connection.execute(_COUNT).fetchone() or ()
        return Counts(dict(zip("rcud", counts, strict=True)), transactions)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let it run while the block lasts."""
        thread = self._runtime.spawn("workload", self._run)
        try:
            yield
        finally:
            self._stopped = True
            thread.join()

    def check(self) -> None:
        """Raise what has ended it too early."""
        if self._failure is not None:
            raise self._failure

    def rows(self) -> Sequence[tuple[object, ...]]:
        """The rows of the table, by id."""
        with self.connection() as connection:
            return connection.execute("TABLE flights ORDER BY id").fetchall()

    def _run(self) -> None:
        try:
            with self.connection() as connection:
                while not self._stopped and connection.execute(_STREAMED).fetchone() is None:
                    self._runtime.sleep(_LOOK)
                if not self._stopped:
                    connection.execute("CALL fly()")
        except Exception as error:  # noqa: BLE001 (raised again by `check`)
            self._failure = error
