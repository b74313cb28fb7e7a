"""The properties of the connector; those that Debezium's connector for PostgreSQL has bear its names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eosfw.config import Boolean, Choice, ConfigDef, Int, List, Password, String
from eosfw.config.validators import matches
from eosfw_postgres.envelope import ENVELOPE_PROPERTIES
from eosfw_postgres.types import TYPE_PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eosfw.config import Config


class Patterns(List):
    """Regular expressions, separated by commas."""

    def parse(self, text: str) -> tuple[str, ...]:
        patterns = List.parse(self, text)
        for one in patterns:
            try:
                re.compile(one)
            except re.error as why:
                raise ValueError(f"{one!r} is no regular expression: {why}") from None
        return patterns


_NAME = matches("[a-z0-9_]{1,63}")


def _hosts(text: str) -> None:
    if "://" in text:
        raise ValueError("it is a host, not a URL; database.port, database.user and database.dbname say the rest")
    for host in text.split(","):
        if re.fullmatch(r"[^:/]*:\d+", host):
            raise ValueError("it is a host alone; database.port says the port")


PROPERTIES = (
    String(
        "database.hostname",
        default="localhost",
        validator=_hosts,
        doc="host of the server, or folder of its socket; of several, after commas, that which writes",
    ),
    Int("database.port", default=5432, at_least=1, doc="port of the server"),
    String("database.user", default="postgres", doc="a role with the attribute REPLICATION that may read the tables"),
    Password("database.password", default=None, doc="password of the role"),
    String("database.dbname", doc="the database whose changes are read"),
    Choice(
        "database.sslmode",
        default="prefer",
        among=("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
        doc="libpq's `sslmode`",
    ),
    String("database.sslrootcert", default=None, doc="file with certificates of authorities, to verify the server"),
    String("topic.prefix", doc="first part of the topics' names: PREFIX.SCHEMA.TABLE"),
    Choice("plugin.name", default="pgoutput", among=("pgoutput",), doc="the server's plugin that decodes its log"),
    String("slot.name", default="debezium", validator=_NAME, doc="the replication slot; of this connector alone"),
    String("publication.name", default="dbz_publication", doc="the publication, which says what the server sends"),
    Choice(
        "publication.autocreate.mode",
        default="all_tables",
        among=("all_tables", "filtered", "disabled"),
        doc="how to create a publication that does not exist: for all tables, for those that are read, or not at all",
    ),
    Choice(
        "snapshot.mode",
        default="initial",
        among=("initial", "initial_only", "no_data", "never"),
        doc="rows before changes; the rows alone; changes alone (no_data and never)",
    ),
    Patterns(
        "table.include.list", default=(), doc="tables to read, SCHEMA.TABLE, as regular expressions; all by default"
    ),
    Patterns("table.exclude.list", default=(), doc="tables not to read, SCHEMA.TABLE, as regular expressions"),
    String(
        "signal.data.collection",
        default=None,
        doc="a table, SCHEMA.TABLE, whose new rows are signals: id, type (execute-snapshot or stop-snapshot), data",
    ),
    Choice("signal.enabled.channels", default="source", among=("source",), doc="where signals come from: the table"),
    Int(
        "incremental.snapshot.chunk.size",
        default=1024,
        at_least=1,
        doc="rows of a table that an incremental snapshot reads, and holds, at once",
    ),
    List("skipped.operations", default=("t",), doc="operations that make no record: c, u, d, t (TRUNCATE), or none"),
    Int("max.batch.size", default=2048, at_least=1, doc="changes that a poll takes; it ends with a change, whole"),
    Int(
        "max.transaction.records",
        default=100_000,
        at_least=1,
        doc="changes of a longer transaction are cut into several of Kafka, with transaction.boundary=connector",
    ),
    Int(
        "poll.interval.ms",
        default=1000,
        at_least=1,
        doc="how long a poll waits for changes, in milliseconds; after less than a second it pauses where none come",
    ),
    Int(
        "heartbeat.interval.ms",
        default=10_000,
        at_least=0,
        doc="how often the source offset moves on while no record does, so that the server keeps no log; 0 for never",
    ),
    Boolean(
        "flush.lsn.source",
        default=True,
        doc="whether to confirm what is in Kafka, so that the server forgets it; false keeps all log for ever",
    ),
    Int(
        "status.update.interval.ms",
        default=10_000,
        at_least=1,
        doc="longest time between two confirmations to the server, in milliseconds",
    ),
    Int(
        "slot.lag.interval.ms",
        default=10_000,
        at_least=0,
        doc="how often to ask what log the server keeps for slots, in milliseconds; 0 for never",
    ),
    Int(
        "slot.retained.warn.bytes",
        default=2**30,
        at_least=0,
        doc="bytes of log kept for the slot, or for one that nobody reads, from which on to warn; 0 for never",
    ),
    Boolean(
        "slot.failover",
        default=False,
        doc="whether standbys have the slot, too, so that the connector goes on behind a failover; PostgreSQL 17",
    ),
    Boolean(
        "slot.drop.on.stop",
        default=False,
        doc="drop the slot when the task stops, for tests: behind it a start without new offsets is refused",
    ),
    *ENVELOPE_PROPERTIES,
    *TYPE_PROPERTIES,
)

CONNECTOR = ConfigDef(*PROPERTIES)
TASK = ConfigDef(
    *PROPERTIES, Boolean("transaction.commit.overlap", default=False, doc="whether polls overlap with commits")
)


def task_properties(config: Config) -> Mapping[str, str]:
    """The connector's properties as text, for its one task."""
    return {key: _text(config[key]) for key in TASK.keys if config[key] not in (None, "")}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, tuple) else str(value)
