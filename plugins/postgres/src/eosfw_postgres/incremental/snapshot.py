"""Chunks of a table that are read while its changes go on, and put among them where they hold.

A chunk is read in a snapshot of the database, kept, and returned once every change of a transaction that the snapshot
shows was returned before. Of a key that was changed meanwhile by another transaction the row is left out, since that
change is newer and has been returned, too. So a row that is returned is what the changes before it have made, no change
behind it is in it already, and nothing is written to the database for that.

A transaction may be in the log, and so be returned, before others see it. A chunk is read once its snapshot shows every
transaction that was returned before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import psycopg
from psycopg import pq, sql
from psycopg.errors import LockNotAvailable

from eosfw.errors import RetriableError
from eosfw_postgres.errors import from_result, translation
from eosfw_postgres.incremental.progress import OFFSET_FIELD, Progress
from eosfw_postgres.incremental.signals import ExecuteSnapshot, SignalError, signal_of
from eosfw_postgres.pgoutput import Change, Op, Truncate
from eosfw_postgres.replication.changes import StreamedChange
from eosfw_postgres.replication.publication import published_of
from eosfw_postgres.replication.slot import parse_lsn
from eosfw_postgres.snapshot import next_transaction
from eosfw_postgres.snapshot_progress import VisibleTransactions
from eosfw_postgres.tables import TableFilter, find_tables, relation_of, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from psycopg import Connection

    from eosfw.config import Config
    from eosfw.records import SourceBatch, SourceOffset
    from eosfw_postgres.connection import Database
    from eosfw_postgres.incremental.progress import Key
    from eosfw_postgres.pgoutput import Relation, Row
    from eosfw_postgres.position import Position
    from eosfw_postgres.replication.changes import Streamed

__all__ = ["Chunk", "IncrementalSnapshot", "end_of_records"]

_PAGE, _PAGE_HEADER = 8192, 40
"""Bytes of a page of the log, and of the longest header of one."""
_BUILT_IN = 16384
"""The OIDs of types that come with the server, whose operators are always found, are smaller."""


class _UnreadableError(Exception):
    """Why a table cannot be read."""


@dataclass(slots=True)
class Chunk:
    """Rows of a table as one snapshot shows them, without those whose keys were changed meanwhile."""

    relation: Relation
    rows: dict[Key, Row]
    behind: Key | None
    """The key of the last row that was read; None at the end of the table."""
    shown: VisibleTransactions
    until_lsn: int
    """Every transaction that the snapshot shows was committed before."""
    taken_ms: int

    def forget(self, change: Change | Truncate, relation: Relation) -> bool:
        """Leave out the rows that a change of a relation has made or removed; False if its keys are others by now."""
        if isinstance(change, Truncate):
            self.rows.clear()
            return True
        columns = {column.name: (column.type_oid, at) for at, column in enumerate(relation.columns)}
        found = [columns.get(self.relation.columns[at].name) for at in self.relation.keys]
        places = [at for kind, at in filter(None, found)]
        kinds = [kind for kind, at in filter(None, found)]
        if kinds != [self.relation.columns[at].type_oid for at in self.relation.keys]:
            return False
        for row in (change.before, change.after):
            if row is not None:
                self.rows.pop(tuple(str(row[at]) for at in places), None)
        return True


class IncrementalSnapshot:
    """The incremental snapshot of a task; one thread uses it."""

    def __init__(
        self,
        database: Database,
        config: Config,
        stored: SourceOffset | None,
        complete: Callable[[Relation, Connection], Relation],
        warn: Callable[[str, str], None],
    ) -> None:
        self._database, self._complete, self._warn = database, complete, warn
        self._signals: str | None = config["signal.data.collection"]
        self._wanted, self._publication = TableFilter.of(config), str(config["publication.name"])
        self._most: int = config["incremental.snapshot.chunk.size"]
        self.progress = Progress.of((stored or {}).get(OFFSET_FIELD))
        self._chunk: Chunk | None = None
        self._floor: int | None = None
        """Transactions with smaller ids may have been returned without being seen yet; None if that was not asked."""
        self._returned: set[int] = set()
        """The ids of transactions that were returned since."""

    @property
    def is_active(self) -> bool:
        """Whether there are rows to be read."""
        return bool(self.progress.tables)

    @property
    def waits(self) -> bool:
        """Whether rows were read that wait for changes."""
        return self._chunk is not None

    def reopen(self) -> None:
        """Begin anew behind the last row that was returned, since changes are read anew."""
        self._chunk, self._floor = None, None
        self._returned.clear()

    def take(self, changes: Iterable[Streamed]) -> None:
        """Look at changes that are returned: follow signals among them, and leave out rows that they have changed."""
        if self._signals is None and not self.is_active:
            return
        for streamed in changes:
            if isinstance(streamed, StreamedChange):
                self._look_at(streamed)
            elif self._is_signal(streamed.relation) or self._is_read(streamed.relation):
                for one in streamed.changes():
                    self._look_at(one)
            elif self.is_active:
                self._returned.update(begin.xid for begin in streamed.begins)

    def marked(self, batches: list[SourceBatch]) -> list[SourceBatch]:
        """Batches of changes whose offsets say how far the rows were read."""
        return [self._marked(one) for one in batches] if self.is_active else batches

    def due(self, position: Position) -> Chunk | None:
        """The rows that may be returned at a position; reads the next ones if there are none."""
        if self._chunk is None and self.is_active:
            name, condition = self.progress.tables[0]
            try:
                self._chunk = self._read(name, condition)
            except _UnreadableError as why:
                what = f"table {name} {why}: its incremental snapshot is left out"
                self._warn(f"incremental snapshot of {name}", what)
                self.progress = self.progress.at(None)
        chunk = self._chunk
        if chunk is None or position.lsn < chunk.until_lsn:
            return None
        self._chunk = None
        self.progress = self.progress.at(chunk.behind)
        return chunk

    def _marked(self, batch: SourceBatch) -> SourceBatch:
        offset = self.progress.offset
        every = batch.source_offsets
        return replace(
            batch,
            source_offset=offset(batch.source_offset),
            source_offsets=None if every is None else [offset(one) for one in every],
        )

    def _look_at(self, streamed: StreamedChange) -> None:
        change, xid = streamed.change, streamed.begin.xid
        if isinstance(change, Change) and change.op is Op.CREATE and self._is_signal(change.relation):
            self._follow(streamed, change)
        if self.is_active:
            self._returned.add(xid)
        if self._chunk is not None and not self._chunk.shown.shows(xid):
            self._forget(self._chunk, change)

    def _is_read(self, relation: Relation) -> bool:
        return self._chunk is not None and self._chunk.relation.oid == relation.oid

    def _is_signal(self, relation: Relation) -> bool:
        return f"{relation.namespace}.{relation.name}" == self._signals

    def _forget(self, chunk: Chunk, change: Change | Truncate) -> None:
        for relation in change.relations if isinstance(change, Truncate) else (change.relation,):
            if relation.oid == chunk.relation.oid and not chunk.forget(change, relation):
                self._chunk = None  # its rows are read again

    def _follow(self, streamed: StreamedChange, change: Change) -> None:
        place = (streamed.begin.final_lsn, streamed.n)
        if place <= self.progress.signal:
            return
        row = {column.name: value for column, value in zip(change.relation.columns, change.after or (), strict=False)}
        kind, data = (value if isinstance(value, str) else None for value in (row.get("type"), row.get("data")))
        try:
            signal = signal_of(kind, data)
        except SignalError as why:
            self._warn("signal", f"{why}; it is left out")
            return
        before = self.progress
        if isinstance(signal, ExecuteSnapshot):
            self.progress = before.with_tables(self._named(signal))
        elif signal is not None:
            self.progress = before.without([table for table, _ in before.tables if signal.names(table)])
        if self.progress.tables[:1] != before.tables[:1]:
            self.reopen()
        self.progress = Progress(self.progress.tables, self.progress.behind, place)

    def _named(self, signal: ExecuteSnapshot) -> list[tuple[str, str]]:
        with self._database.session() as session:
            tables = [str(one) for one in find_tables(session, self._wanted)]
        named = [(one, signal.condition(one)) for one in tables if signal.names(one)]
        if not named:
            self._warn("signal", "a signal execute-snapshot names no table that is read; it is left out")
        return named

    def _read(self, name: str, condition: str) -> Chunk | None:
        """The next rows of a table; None if they cannot be read yet, _UnreadableError if never."""
        with self._database.session() as session:
            try:
                return self._read_by(session, name, condition)
            except LockNotAvailable:  # of this table, or of another one that is published
                return None

    def _read_by(self, session: Connection, name: str, condition: str) -> Chunk | None:
        if self._floor is None:
            self._floor = next_transaction(session)
        table = next((one for one in find_tables(session, self._wanted) if str(one) == name), None)
        if table is None:
            raise _UnreadableError("is not there, or is not read")
        session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        published = published_of(session, self._publication, table)
        relation = relation_of(session, table, published.columns)
        if not relation.keys:
            raise _UnreadableError("has no primary key, which gives the order of its rows")
        where = f"({published.condition}) AND ({condition or 'true'})"
        shown, taken_ms, until_lsn = _moment(session)
        if not self._shows_all(shown) or unreadable(session, table) is not None:
            return None
        try:
            rows = _rows(session, _query(relation, self.progress.behind, where, self._most))
        except psycopg.Error as error:
            if not condition or isinstance(translation(error, str(self._database)), RetriableError):
                raise
            raise _UnreadableError("cannot be read with the filter of its signal") from None
        keyed = {_key(relation, row): row for row in rows}
        last = _key(relation, rows[-1]) if len(rows) == self._most else None
        return Chunk(self._complete(relation, session), keyed, last, shown, until_lsn, taken_ms)

    def _shows_all(self, shown: VisibleTransactions) -> bool:
        """Whether a snapshot shows every transaction that was returned."""
        if self._floor is not None and shown.xmin < self._floor:
            self._warn(
                "incremental snapshot waits",
                f"an incremental snapshot waits for transaction {shown.xmin} of the server, which runs since before "
                f"its signal",
            )
            return False
        if not all(map(shown.shows, self._returned)):
            return False
        self._floor = 0
        self._returned.clear()
        return True


def end_of_records(lsn: int) -> int:
    """An LSN that a stream reaches, at most another one before which no record ends: a page begins with a header."""
    return lsn - lsn % _PAGE if lsn % _PAGE <= _PAGE_HEADER else lsn


def _moment(session: Connection) -> tuple[VisibleTransactions, int, int]:
    """The snapshot of the session's transaction, its time in milliseconds, and an LSN behind all that it shows."""
    row = session.execute(
        "SELECT pg_current_snapshot()::text, (extract(epoch FROM now()) * 1000)::bigint, "
        "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END::text"
    ).fetchone()
    text, now, lsn = row or ("0:0:", 0, "0/0")
    return VisibleTransactions(text), now, end_of_records(parse_lsn(lsn))


def _key(relation: Relation, row: Row) -> Key:
    return tuple(str(row[at]) for at in relation.keys)


def _query(relation: Relation, behind: Key | None, condition: str, most: int) -> sql.Composed:
    columns = sql.SQL(", ").join(sql.Identifier(column.name) for column in relation.columns)
    table = sql.Identifier(relation.namespace, relation.name)
    query = sql.SQL("SELECT {} FROM {} WHERE ({})").format(columns, table, sql.SQL(condition))
    order = sql.SQL(", ").join(_ordered(relation, at) for at in relation.keys)
    if behind is not None:
        bound = sql.SQL(", ").join(_bound(relation, at, one) for at, one in zip(relation.keys, behind, strict=True))
        query += sql.SQL(" AND ROW({}) > ROW({})").format(order, bound)
    return query + sql.SQL(" ORDER BY {} LIMIT {}").format(order, sql.Literal(most))


def _ordered(relation: Relation, at: int) -> sql.Composable:
    """A column as its index orders it; the bytes of its text where the operators of its type may not be found."""
    column = sql.Identifier(relation.columns[at].name)
    if relation.columns[at].type_oid < _BUILT_IN:
        return column
    return sql.SQL("convert_to(format('%s', {}), 'UTF8')").format(column)


def _bound(relation: Relation, at: int, text: str) -> sql.Composable:
    if relation.columns[at].type_oid < _BUILT_IN:
        return sql.Literal(text)
    return sql.SQL("convert_to({}, 'UTF8')").format(sql.Literal(text))


def _rows(session: Connection, query: sql.Composed) -> Sequence[Row]:
    """The rows with the server's own texts; psycopg's errors."""
    result = session.pgconn.exec_(query.as_bytes(session))
    if result.status != pq.ExecStatus.TUPLES_OK:
        raise from_result(result)
    values = [[result.get_value(row, column) for column in range(result.nfields)] for row in range(result.ntuples)]
    return [[None if value is None else value.decode() for value in row] for row in values]
