"""The task of the connector, which polls its tables in turn."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from eosfw.connectors import SourceTask
from eosfw.errors import ConfigError, DamagedDataError, RetriableError
from eosfw_sql.attempts import Attempts
from eosfw_sql.database import Database
from eosfw_sql.errors import LockedTableError
from eosfw_sql.properties import TASK
from eosfw_sql.reader import TableReader, table_reader
from eosfw_sql.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourceBatch

_STATEMENTS = 4
"""Of each table: with and without a position to begin at, and the look for late rows."""
_LONGEST_POLL_SECONDS = 0.5
"""How long one poll asks tables that give nothing: the framework must be able to stop a task soon."""
_LOCKED_SECONDS = 1.0
"""How long a locked table is left alone at least."""


class SqlSourceTask(SourceTask):
    """Polls its tables in turn; one that gave no rows is left alone for `poll.interval.ms`."""

    config: ClassVar[ConfigDef | None] = TASK

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._database: Database | None = None
        self._turns = Turns[TableReader]()
        self._locked: set[str] = set()
        """Tables that were locked when they were last asked."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        # The database is asked by polls alone, which are repeated while it does not answer.
        names = config["task.tables"] or ([] if not config["query"] else [""])
        self._database = database = Database(config, _STATEMENTS * len(names))
        self._context = context
        self._pause: float = config["poll.interval.ms"] / 1000
        self._named: bool = config["task.tables.named"]
        self._attempts = Attempts(config["query.retry.attempts"])
        self._turns = Turns(table_reader(database, name, config, context, self._clock) for name in names)

    def poll(self) -> SourceBatch | None:
        until = self._clock() + _LONGEST_POLL_SECONDS
        while (now := self._clock()) < until and (reader := self._turns.next(now)) is not None:
            batch = self._taken(reader)
            if batch is not None:
                return batch
        return None

    def at_end(self) -> bool:
        return self._turns.all_wait and not self._locked

    def stop(self) -> None:
        for reader in self._turns.members:
            reader.close()
        if self._database is not None:
            self._database.close()

    def _taken(self, reader: TableReader) -> SourceBatch | None:
        try:
            batch = reader.take()
        except LockedTableError:
            self._put_off(reader)
            return None
        except RetriableError as error:
            self._reconnect(reader)
            self._attempts.failed(error)
            raise
        except (ConfigError, DamagedDataError):
            if self._named or not self._is_gone(reader):
                raise
            reader.close()
            self._locked.discard(reader.name)
            self._context.notice("tables gone", f"table {reader.name} does not exist any more, and is not read")
            return None
        self._attempts.succeeded()
        self._locked.discard(reader.name)
        # The next poll begins with the next table.
        self._turns.put_back(reader, self._clock() + self._pause if reader.idle else None)
        return batch

    def _put_off(self, reader: TableReader) -> None:
        """Read the other tables, and a locked one later."""
        self._turns.put_back(reader, self._clock() + max(self._pause, _LOCKED_SECONDS))
        if reader.name not in self._locked:
            self._locked.add(reader.name)
            what = f"table {reader.name}" if reader.name else "a table of the query"
            self._context.notice("locked tables", f"{what} is locked, as by ALTER TABLE: it is read once it is free")

    def _reconnect(self, reader: TableReader) -> None:
        """Connections to a database that was restarted are of no use."""
        self._turns.put_back(reader, None)
        for one in self._turns.members:
            one.close()
        if self._database is not None:
            self._database.close()

    def _is_gone(self, reader: TableReader) -> bool:
        try:
            return self._database is not None and not self._database.has_table(reader.name)
        except RetriableError:
            self._reconnect(reader)
            raise
