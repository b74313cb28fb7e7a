"""The properties of the connector; those that Confluent's JDBC source has bear its names."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from eosfw.config import Boolean, Choice, ConfigDef, Int, Key, List, Long, Password, String

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eosfw.config import Config

DEFAULT_POLL_INTERVAL_MS = 5000
TABLE_TYPES = ("TABLE", "VIEW", "MATERIALIZED VIEW")
GRANULARITIES = (
    "connect_logical",
    *(f"{unit}_{form}" for unit in ("micros", "nanos") for form in ("long", "string", "iso_datetime_string")),
)
_TABLES = "task.tables"
_NAMED = "task.tables.named"


@dataclass(frozen=True, slots=True)
class TimeZone(Key):
    """A time zone of the tz database, such as `UTC` or `Europe/Berlin`."""

    def parse(self, text: str) -> ZoneInfo:
        try:
            return ZoneInfo(text)
        except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError
            raise ValueError("expected a time zone such as UTC or Europe/Berlin") from None


@dataclass(frozen=True, slots=True)
class TableTypes(Key):
    """Types of tables, in any case, separated by commas."""

    def parse(self, text: str) -> tuple[str, ...]:
        kinds = tuple(" ".join(one.upper().split()) for one in text.split(",") if one.strip())
        if not kinds or not {*kinds} <= {*TABLE_TYPES}:
            raise ValueError(f"expected some of {', '.join(TABLE_TYPES)}")
        return kinds


@dataclass(frozen=True, slots=True)
class Tables(Key):
    """A JSON list of tables, which the connector writes into its task configurations."""

    def parse(self, text: str) -> tuple[str, ...]:
        return tuple(json.loads(text))


_READING = (
    String(
        "connection.url", doc="SQLAlchemy's URL of the database, or a JDBC URL of SQLite, PostgreSQL, MariaDB or MySQL"
    ),
    String("connection.user", default=None, doc="the user, if the URL names none"),
    Password("connection.password", default=None, doc="the user's password, if the URL names none"),
    Choice(
        "mode",
        among=("bulk", "incrementing", "timestamp", "timestamp+incrementing"),
        doc="what tells new rows: nothing (all rows again and again), a growing number, a time of change, or both",
    ),
    String(
        "incrementing.column.name",
        default=None,
        doc="a column of whole numbers, unique, that grows with every new row; by default the primary key",
    ),
    List(
        "timestamp.column.name",
        default=(),
        doc="a column with the time of the last change of the row; of several the first that is not null counts",
    ),
    Long(
        "timestamp.initial",
        default=None,
        at_least=-1,
        doc="first time that is read, in milliseconds since 1970; -1 for the time of the task's start",
    ),
    Long(
        "timestamp.delay.interval.ms",
        default=0,
        at_least=0,
        doc="how long a row waits behind its timestamp, so that transactions with earlier ones can commit",
    ),
    Long(
        "timestamp.late.check.ms",
        default=60_000,
        at_least=0,
        doc="how far to look back for rows that were committed too late to be read, which are reported; 0 for never",
    ),
    Int(
        "incrementing.late.check.numbers",
        default=10_000,
        at_least=0,
        doc="how far to look back, in numbers, for rows of mode incrementing that were committed too late; 0 for never",
    ),
    String("query", default="", may_be_empty=True, doc="a SELECT whose rows are read in the place of tables"),
    String(
        "query.suffix", default="", may_be_empty=True, doc="what stands at the end of every statement that reads rows"
    ),
    Int(
        "query.retry.attempts",
        default=-1,
        at_least=-1,
        doc="how often a statement is repeated while the database does not answer, before the task fails; -1 for ever",
    ),
    String("topic.prefix", doc="what the topics' names begin with; the table's name follows, that of a query has none"),
    Long(
        "poll.interval.ms",
        default=DEFAULT_POLL_INTERVAL_MS,
        at_least=0,
        doc="how long a table without new rows is left alone, in milliseconds; in mode bulk the time between two reads",
    ),
    Int("batch.max.rows", default=1000, at_least=1, doc="most rows of one poll"),
    Choice(
        "quote.sql.identifiers",
        default="always",
        among=("always", "never"),
        doc="whether names of tables and columns are quoted",
    ),
    Choice(
        "numeric.mapping",
        default="none",
        among=("none", "precision_only", "best_fit"),
        doc="DECIMAL and NUMERIC: as Decimal; whole numbers as integers; or also those with a fraction as FLOAT64",
    ),
    Choice(
        "timestamp.granularity",
        default="connect_logical",
        among=GRANULARITIES,
        doc="timestamps as Connect's Timestamp, or with their micro- or nanoseconds as a number or a text",
    ),
    Boolean("validate.non.null", default=True, doc="refuse columns of the mode that may be null: such rows are lost"),
    TimeZone("db.timezone", default="UTC", doc="the time zone of timestamps that have none"),
)

CONNECTOR = ConfigDef(
    *_READING,
    List("table.whitelist", default=(), doc="the tables to read, TABLE or SCHEMA.TABLE; all by default"),
    List("table.blacklist", default=(), doc="tables not to read, TABLE or SCHEMA.TABLE"),
    List("table.include.list", default=(), doc="tables to read as regular expressions, which match the whole name"),
    String("schema.pattern", default=None, doc="schemas whose tables are read, with SQL's % and _; the user's default"),
    String("catalog.pattern", default=None, doc="the same for databases; those of MariaDB and MySQL are its schemas"),
    TableTypes("table.types", default=("TABLE",), doc="what is read: TABLE, VIEW, MATERIALIZED VIEW"),
    Long(
        "table.poll.interval.ms",
        default=60_000,
        at_least=1,
        doc="how often to look for tables that have come or gone, unless `table.whitelist` names them",
    ),
)
TASK = ConfigDef(
    *_READING,
    Tables(_TABLES, doc="the tables of one task"),
    Boolean(_NAMED, doc="whether the user named them, so that it is an error when one is gone"),
)


def task_properties(config: Config, tables: Iterable[str]) -> Mapping[str, str]:
    """The properties of a task that reads these tables, or the query, with the connector's settings."""
    given = {key.name: _text(config[key.name]) for key in _READING if config[key.name] is not None}
    return given | {
        _TABLES: json.dumps(list(tables)),
        _NAMED: _text(bool(config["table.whitelist"] or config["query"])),
    }


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
