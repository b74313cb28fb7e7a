"""Source connector `journal`: each transaction of a database becomes one transaction of Kafka.

The database keeps a journal, a table of SQLite: rows that say `change`, with what was changed, then one that says `commit`
or `rollback`. Readers of the topic see all changes of a database's transaction at once, or none of them.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

import eosfw
from eosfw.errors import Problem

TABLE = "CREATE TABLE journal (id INTEGER PRIMARY KEY, what TEXT, value TEXT)"
"""`what` is `change`, `commit` or `rollback`; only changes have a value."""


class JournalTask(eosfw.SourceTask):
    """Reads the journal; it is one source partition, so there is one task."""

    config = eosfw.ConfigDef(eosfw.String("database"), eosfw.Int("batch.size"), eosfw.String("topic"))

    def start(self, config: eosfw.Config, context: eosfw.SourceTaskContext) -> None:
        """Open the journal behind the last transaction that was committed or discarded."""
        assert context.transaction is not None, "JournalConnector.problems asks for it"
        self.ends = context.transaction
        self.topic, self.most, self.done = config.topic, config.batch_size, False
        self.partition = {"database": config.database}
        self.database = sqlite3.connect(config.database)
        self.row = int((context.offset(self.partition) or {"row": 0})["row"] or 0)
        self.held: eosfw.SourceRecord | None = None

    def poll(self) -> list[eosfw.SourceRecord]:
        """Return changes; a transaction may go on over many polls."""
        query = "SELECT id, what, value FROM journal WHERE id > ? ORDER BY id LIMIT ?"
        rows = self.database.execute(query, (self.row, self.most)).fetchall()
        self.done = not rows
        return [record for row in rows if (record := self.read(*row)) is not None]

    def read(self, row: int, what: str, value: str | None) -> eosfw.SourceRecord | None:
        """Take a row; give the change before it, whose successor tells whether it was the last of its transaction."""
        self.row = row
        before, self.held = self.held, None
        if what == "change":
            offset = {"row": row}
            self.held = eosfw.SourceRecord(
                self.topic, str(value).encode(), source_partition=self.partition, source_offset=offset
            )
        elif before is not None:
            # The end goes with its last change: who starts again begins behind both.
            before = replace(before, source_offset={"row": row})
            end = self.ends.commit_record if what == "commit" else self.ends.abort_record
            end(before)  # the very object that poll returns
        return before

    def at_end(self) -> bool:
        """Tell that the journal holds no more; changes without an end wait for it."""
        return self.done

    def stop(self) -> None:
        """Close the database, which was not opened if `start` failed."""
        if hasattr(self, "database"):
            self.database.close()


class JournalConnector(eosfw.SourceConnector):
    """Offers the journal of one database."""

    name, task = "journal", JournalTask
    config = eosfw.ConfigDef(
        eosfw.String("database", doc="the file of the database"),
        eosfw.Int("batch.size", 500, "most rows that a poll reads", at_least=1),
        eosfw.String("topic", doc="where changes go"),
    )

    def problems(self, config: eosfw.Config) -> Iterable[Problem]:
        """Refuse other boundaries: with them, what was rolled back would be committed."""
        if config["transaction.boundary"] != "connector":
            yield Problem("transaction.boundary", 'must be "connector": the journal says where transactions end')

    def check(self, config: eosfw.Config) -> Iterable[Problem]:
        """Look for the journal."""
        try:
            with closing(sqlite3.connect(f"file:{config.database}?mode=ro", uri=True)) as database:
                database.execute("SELECT id, what, value FROM journal LIMIT 1")
        except sqlite3.Error as why:
            yield Problem("database", f"{config.database} has no journal to read: {why}")

    def task_configs(self, config: eosfw.Config, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """One share, whatever `tasks.max` is: order between transactions is kept."""
        return [{name: str(config[name]) for name in ("database", "batch.size", "topic")}]

    def exactly_once_support(self, config: eosfw.Config) -> eosfw.ExactlyOnceSupport:
        """Promise that the same offset is always followed by the same records: rows are only ever added."""
        return eosfw.ExactlyOnceSupport.SUPPORTED

    def transaction_boundaries(self, config: eosfw.Config) -> eosfw.ConnectorTransactionBoundaries:
        """Tell that tasks end transactions themselves."""
        return eosfw.ConnectorTransactionBoundaries.SUPPORTED


@eosfw.hookimpl
def eosfw_connectors() -> list[type[eosfw.SourceConnector]]:
    """Offer the connector to the framework."""
    return [JournalConnector]
