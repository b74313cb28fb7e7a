"""How much of its log the server keeps: for the slot of a connector, and for slots that nobody reads."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg.errors import LockNotAvailable

from eosfw_postgres.replication.publication import refuse_lacking
from eosfw_postgres.tables import named_tables, needed_tables, unmatched_patterns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eosfw.concurrency import Runtime
    from eosfw.config import Config
    from eosfw.connectors import SourceTaskContext
    from eosfw_postgres.connection import Database

__all__ = ["SlotLag", "SlotState", "warnings_of"]

_QUERY = """
SELECT slot_name, active, wal_status, coalesce(ends - confirmed_flush_lsn, 0)::bigint,
  coalesce(ends - restart_lsn, 0)::bigint
FROM pg_catalog.pg_replication_slots, (SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
  ELSE pg_current_wal_lsn() END AS ends) AS log
"""


_UNRESERVED = (
    "replication slot {0!r} is about to be lost: the server may remove log that the connector has not read "
    "(wal_status is 'unreserved'); raise max_slot_wal_keep_size, or give the connector more room"
)
_LAGS = (
    "the server keeps {0} of its log for replication slot {1!r}, which is more than slot.retained.warn.bytes: the "
    "connector is slower than the changes, or a transaction is open for long; see that the disk of pg_wal has room, or "
    "set max_slot_wal_keep_size"
)
_UNREAD = (
    "the server keeps {0} of its log for replication slot {1!r}, which nobody reads: if its reader is gone, "
    "SELECT pg_drop_replication_slot('{1}'), before the disk is full"
)
_UNMATCHED = "table.include.list: no table is read by {0}; correct it, or make the table, written SCHEMA.TABLE"


@dataclass(frozen=True, slots=True)
class SlotState:
    """A replication slot, and what the server keeps for it."""

    name: str
    active: bool
    wal_status: str | None
    lag: int
    """Bytes of the log behind what was confirmed."""
    retained: int
    """Bytes of the log that the server keeps for it."""


def warnings_of(slots: Sequence[SlotState], own: str, most: int) -> Iterator[tuple[str, str]]:
    """What somebody must know, by the kind of it; `most` are the bytes that may be kept, 0 for any number."""
    for slot in slots:
        if slot.name == own and slot.wal_status == "unreserved":
            yield f"slot {own} unreserved", _UNRESERVED.format(own)
        if not most or slot.retained <= most:
            continue
        if slot.name == own:
            yield f"slot {own} lags", _LAGS.format(_size(slot.retained), own)
        elif not slot.active:
            yield f"slot {slot.name} unread", _UNREAD.format(_size(slot.retained), slot.name)


class SlotLag:
    """Looks at the slots once in a while; a warning is given when it becomes true, and again after it was not."""

    def __init__(self, database: Database, config: Config, context: SourceTaskContext, runtime: Runtime) -> None:
        self._database, self._runtime, self._notice = database, runtime, context.notice
        self._config, self._own = config, str(config["slot.name"])
        self._most: int = config["slot.retained.warn.bytes"]
        self._every: float = config["slot.lag.interval.ms"] / 1000
        self._lag = context.metrics.gauge("slot-lag-bytes", "bytes of the server's log that are not in Kafka yet")
        self._retained = context.metrics.gauge("slot-retained-bytes", "bytes of log that the server keeps for the slot")
        self._looked_at: float | None = None
        self._given: frozenset[str] = frozenset()

    def look(self, *, reads: bool) -> None:
        """Ask the server, if it is time; RetriableError if it does not answer.

        ConfigError if the slot is read, and its publication has lost a table, or is gone.
        """
        now = self._runtime.now()
        if not self._every or (self._looked_at is not None and now - self._looked_at < self._every):
            return
        with self._database.session() as session:
            slots = [SlotState(*row) for row in session.execute(_QUERY)]
            named = named_tables(session, self._config)
            if reads:
                # The server locks each table to list it; one that is locked meanwhile is no reason not to read others.
                with suppress(LockNotAvailable):
                    needed = needed_tables(session, self._config, named)
                    refuse_lacking(session, self._config["publication.name"], needed)
        self._looked_at = now
        for slot in slots:
            if slot.name == self._own:
                self._lag.set(slot.lag)
                self._retained.set(slot.retained)
        warnings = {
            f"table.include.list {one}": _UNMATCHED.format(one) for one in unmatched_patterns(self._config, named)
        }
        self._warn(warnings | dict(warnings_of(slots, self._own, self._most)))

    def _warn(self, warnings: dict[str, str]) -> None:
        for kind in warnings.keys() - self._given:
            self._notice(kind, warnings[kind])
        self._given = frozenset(warnings)


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"
