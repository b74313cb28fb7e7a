"""The task of the connector, which polls its tables in turn."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from eosfw.connectors import SourceTask
from eosfw.errors import RetriableError
from eosfw_sql.database import Database
from eosfw_sql.properties import TASK
from eosfw_sql.reader import TableReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from eosfw.config import Config, ConfigDef
    from eosfw.connectors import SourceTaskContext
    from eosfw.records import SourceBatch


class SqlSourceTask(SourceTask):
    """Polls its tables in turn; one that gave no rows is left alone for `poll.interval.ms`."""

    config: ClassVar[ConfigDef | None] = TASK

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._database: Database | None = None

    def start(self, config: Config, context: SourceTaskContext) -> None:
        # The database is asked by polls alone, which are repeated while it does not answer.
        self._database = Database(config)
        self._pause: float = config["poll.interval.ms"] / 1000
        self._bulk = config["mode"] == "bulk"
        self._readers = [TableReader(self._database, name, config, context) for name in config["task.tables"]]
        self._due: dict[TableReader, float] = {}
        """The tables that had no rows when they were last asked, with the time of the next look."""

    def poll(self) -> SourceBatch | None:
        for reader in list(self._readers):
            if self._due.get(reader, 0.0) > self._clock():
                continue
            batch = self._taken(reader)
            # The next poll begins with the next table.
            self._readers.remove(reader)
            self._readers.append(reader)
            if batch is None or self._bulk:
                self._due[reader] = self._clock() + self._pause
            else:
                self._due.pop(reader, None)
            if batch is not None:
                return batch
        return None

    def at_end(self) -> bool:
        return len(self._due) == len(self._readers)

    def stop(self) -> None:
        if self._database is not None:
            self._database.close()

    def _taken(self, reader: TableReader) -> SourceBatch | None:
        try:
            return reader.take()
        except RetriableError:
            # Connections to a database that was restarted are of no use.
            if self._database is not None:
                self._database.close()
            self._due.pop(reader, None)
            raise
