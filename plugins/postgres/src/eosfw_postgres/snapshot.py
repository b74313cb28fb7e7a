"""The rows of the tables, read in one snapshot of the database by COPY, in the order of their keys.

The snapshot is taken once every transaction that might have been committed before the slot's first one is visible: a
transaction is not visible to others for a moment after its commit is in the log, longer with synchronous replication.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from eosfw.errors import RetriableError
from eosfw_postgres.connection import copied_lines
from eosfw_postgres.copy_text import rows_of_lines
from eosfw_postgres.errors import refused, translated
from eosfw_postgres.replication.publication import published_of
from eosfw_postgres.replication.slot import parse_lsn
from eosfw_postgres.snapshot_progress import (
    ORDERED_AS_STORED,
    SnapshotProgress,
    VisibleTransactions,
)
from eosfw_postgres.tables import TableFilter, find_tables, relation_of, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from psycopg import Connection

    from eosfw.config import Config
    from eosfw_postgres.connection import Database
    from eosfw_postgres.pgoutput import Relation, Row
    from eosfw_postgres.tables import Table

__all__ = ["TableSnapshot", "next_transaction"]

_TRANSACTION_TIMEOUT = 170000
"""The oldest version that has it."""


def next_transaction(session: Connection) -> int:
    """The id of a transaction that begins now: those with a smaller one may be running."""
    # That of a snapshot would not do: it ends behind the last transaction that was decided.
    row = session.execute(
        "SELECT CASE WHEN pg_is_in_recovery() THEN pg_snapshot_xmax(pg_current_snapshot()) "
        "ELSE pg_current_xact_id() END::text"
    ).fetchone()
    return int(row[0]) if row else 0


class TableSnapshot:
    """An open snapshot of the database; one thread uses it."""

    def __init__(
        self,
        database: Database,
        config: Config,
        progress: SnapshotProgress,
        floor: int,
        complete: Callable[[Relation, Connection], Relation],
    ) -> None:
        """`complete` gives a relation the key of its table."""
        self._database, self._session, self._complete = database, database.connect(), complete
        self._most: int = config["max.batch.size"]
        self._publication: str = config["publication.name"]
        try:
            with translated(str(database)):
                if self._session.info.server_version >= _TRANSACTION_TIMEOUT:
                    self._session.execute("SET transaction_timeout = 0")
                self._session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                self.progress = _taken(self._session, progress, floor)
                tables = [
                    one for one in find_tables(self._session, TableFilter.of(config)) if not progress.is_read(str(one))
                ]
        except BaseException:
            self.close()
            raise
        self._rows = self._read(tables)

    def read(self) -> tuple[Relation, Sequence[Row]] | None:
        """The next rows of one table; none stand for the end of the table, None for that of all."""
        with translated(str(self._database)):
            return next(self._rows, None)

    def close(self) -> None:
        """End the snapshot."""
        self._session.close()

    def _read(self, tables: Sequence[Table]) -> Iterator[tuple[Relation, Sequence[Row]]]:
        for table in tables:
            if (why := unreadable(self._session, table)) is not None:
                raise RetriableError(f"table {table} {why}, so its snapshot is begun anew", retry_after=1.0)
            published = published_of(self._session, self._publication, table)
            relation = relation_of(self._session, table, published.columns)
            self.progress.refuse_other_key(relation)
            query = _query(relation, published.condition, self.progress.behind(str(table))).as_string(self._session)
            # Once, since nobody changes a table that is locked.
            completed = self._complete(relation, self._session)
            for lines in copied_lines(self._session.pgconn, query, self._most):
                yield completed, rows_of_lines(lines, len(relation.columns))
            yield completed, []


def _taken(session: Connection, progress: SnapshotProgress, floor: int) -> SnapshotProgress:
    """The progress with the snapshot of the session's transaction; RetriableError if it is too early."""
    row = session.execute(
        "SELECT pg_current_snapshot()::text, (extract(epoch FROM now()) * 1000)::bigint, "
        "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END::text"
    ).fetchone()
    text, now, lsn = row or ("0:0:", 0, "0/0")
    snapshot = VisibleTransactions(text)
    if snapshot.xmin < floor:
        raise RetriableError(
            f"the snapshot waits for transaction {snapshot.xmin} of the server, which runs since before the slot of "
            f"the connector: end it, or the prepared transaction, if it was forgotten",
            retry_after=1.0,
        )
    return progress.with_snapshot(snapshot, now, parse_lsn(lsn))


def _query(relation: Relation, condition: str, behind: Sequence[str] | None) -> sql.Composed:
    """COPY of a table's rows behind a key, in the order of keys."""
    columns = sql.SQL(", ").join(sql.Identifier(column.name) for column in relation.columns)
    table = sql.Identifier(relation.namespace, relation.name)
    query = sql.SQL("COPY (SELECT {} FROM {} WHERE ({})").format(columns, table, sql.SQL(condition))
    order = sql.SQL(", ").join(_ordered(relation, at) for at in relation.keys)
    if behind is not None:
        if not relation.keys:
            raise refused(
                "table.include.list",
                f"the snapshot of {relation.namespace}.{relation.name} was interrupted, and without a primary key "
                f"nothing says which of its rows are in Kafka: give it a primary key, or exclude it; then reset the "
                f"connector's offsets, and let it take a snapshot into new topics",
            )
        bound = sql.SQL(", ").join(_bound(relation, at, one) for at, one in zip(relation.keys, behind, strict=True))
        query += sql.SQL(" AND ROW({}) > ROW({})").format(order, bound)
    if relation.keys:
        query += sql.SQL(" ORDER BY {}").format(order)
    return query + sql.SQL(") TO STDOUT")


def _ordered(relation: Relation, at: int) -> sql.Composed:
    """A column of the key as `order_of` compares it; `format` gives the text that the stream has, a cast may not."""
    column = sql.Identifier(relation.columns[at].name)
    if relation.columns[at].type_oid in ORDERED_AS_STORED:
        return sql.Composed([column])
    return sql.SQL("convert_to(format('%s', {}), 'UTF8')").format(column)


def _bound(relation: Relation, at: int, text: str) -> sql.Composed:
    literal = sql.Literal(text)
    type_oid = relation.columns[at].type_oid
    if type_oid in ORDERED_AS_STORED:
        return sql.SQL("{}::{}").format(literal, sql.SQL(ORDERED_AS_STORED[type_oid]))
    return sql.SQL("convert_to({}, 'UTF8')").format(literal)
