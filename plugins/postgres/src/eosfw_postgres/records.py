"""Records made of changes and rows, each with the source offset behind it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple

from eosfw.records import SourceBatch
from eosfw_postgres.envelope import (
    TABLE_QUERY,
    EnvelopeSettings,
    Origin,
    Records,
    TableEnvelope,
    UnexpectedNullError,
    details_of,
)
from eosfw_postgres.pgoutput import Change, Op, Relation, Truncate
from eosfw_postgres.position import Position
from eosfw_postgres.replication.changes import StreamedRows
from eosfw_postgres.tables import TableFilter, only_inserts, topic_of
from eosfw_postgres.types import CATALOG_QUERY, catalog_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from psycopg import Connection

    from eosfw.config import Config
    from eosfw.records import SourceOffset, SourcePartition
    from eosfw_postgres.connection import Database
    from eosfw_postgres.envelope import TableDetails
    from eosfw_postgres.pgoutput import Row
    from eosfw_postgres.replication.changes import Streamed, StreamedChange
    from eosfw_postgres.snapshot_progress import SnapshotProgress
    from eosfw_postgres.types import Catalog

__all__ = ["ChangeRecords", "last_key", "position_behind", "source_offset"]


CONTINUES = "eosfw.transaction.continues"
"""The header of the last record of a transaction of Kafka that holds the beginning of a longer one of the database."""


def position_behind(change: Streamed) -> Position:
    """The position behind a change."""
    return Position(change.begin.final_lsn, change.n + 1)


def source_offset(position: Position, progress: SnapshotProgress | None) -> dict[str, int | str]:
    """The source offset of a position, with the snapshot as long as it decides which changes are news."""
    offset: dict[str, int | str] = dict(position.offset())
    if progress is not None and (not progress.complete or position.lsn < progress.until_lsn):
        offset["snapshot"] = progress.text()
    return offset


def keys_of(relation: Relation, rows: Sequence[Row], behind: Sequence[str] | None) -> list[tuple[str, ...]]:
    """The keys of rows; of a table without a key their numbers, which follow the one before."""
    if not relation.keys:
        first = int(behind[0]) if behind else 0
        return [(str(first + number),) for number in range(1, len(rows) + 1)]
    return [tuple(str(row[at]) for at in relation.keys) for row in rows]


def last_key(relation: Relation, rows: Sequence[Row], behind: Sequence[str] | None) -> tuple[str, ...]:
    """The last of the keys of rows."""
    if relation.keys:
        return keys_of(relation, rows[-1:], behind)[0]
    return (str(len(rows) + (int(behind[0]) if behind else 0)),)


class _News(NamedTuple):
    """What a change means for one relation: the change of a row, or None for a truncation."""

    streamed: StreamedChange
    relation: Relation
    change: Change | None
    at: int = 0
    """The place of the relation among those that a TRUNCATE has emptied."""
    is_last: bool = True
    """Whether no other of them has a record behind it."""


class ChangeRecords:
    """Makes records for one source partition; `progress` is that of the snapshot, if one was taken."""

    def __init__(
        self,
        config: Config,
        database: Database,
        partition: SourcePartition,
        notice: Callable[[str, str], None],
        *,
        offsets: bool,
    ) -> None:
        self._database, self._partition, self._notice, self._offsets = database, partition, notice, offsets
        self._prefix: str = config["topic.prefix"]
        self._skipped = frozenset(config["skipped.operations"])
        self._wanted = TableFilter.of(config)
        self._settings = EnvelopeSettings.of(config)
        self._envelopes: dict[Relation, TableEnvelope | None] = {}
        self._made_of: dict[Relation, tuple[TableDetails, Catalog]] = {}
        self._names: dict[int, str] = {}
        """Of tables that are read, by their oids."""
        self._catalog: Catalog = {}
        self._last: tuple[Relation | None, TableEnvelope | None] = (None, None)
        """The envelope of the last relation: its look-up costs more than a change."""
        self.progress: SnapshotProgress | None = None

    def complete(self, relation: Relation, session: Connection | None = None) -> Relation:
        """A relation with the key of its table; with REPLICA IDENTITY FULL the server marks all columns as the key.

        A session that has locked the table must be the one that asks. The server locks it to write its defaults, and
        another session's lock would wait for ALTER TABLE, which waits for the first one.
        """
        name = f"{relation.namespace}.{relation.name}"
        if not self._wanted(relation.namespace, relation.name):
            self._envelopes[relation] = None
            if (before := self._names.pop(relation.oid, name)) != name:
                lists = "table.include.list and table.exclude.list"
                said = f"table {before} has become {name}, which {lists} leave out: its changes are read no more"
                self._notice("renamed tables", said)
            return relation
        self._names[relation.oid] = name
        if session is None:
            with self._database.session() as own:
                return self.complete(relation, own)
        details = details_of(session.execute(TABLE_QUERY, [relation.oid]).fetchall())
        catalog = self._shared(catalog_of(session.execute(CATALOG_QUERY).fetchall()))
        if relation.replica_identity == "f":
            relation = relation.with_keys(frozenset(details.primary_key))
        # NOT NULL and defaults change without the server's description of the table.
        if self._made_of.get(relation) != (details, catalog):
            self._made_of[relation] = (details, catalog)
            topic = topic_of(self._prefix, relation.namespace, relation.name)
            made = TableEnvelope(relation, details, catalog, self._settings, topic, self._notice)
            self._envelopes[relation] = made
            if (warning := only_inserts(relation, details.primary_key)) is not None:
                self._notice("tables without a replica identity", warning)
        return relation

    def _shared(self, catalog: Catalog) -> Catalog:
        """That of the tables before, if it is the same: it has hundreds of types, and there may be many tables."""
        if catalog != self._catalog:
            self._catalog = catalog
        return self._catalog

    @property
    def events(self) -> Callable[[Change | Truncate], Iterable[tuple[int, int]]] | None:
        """How many events changes are for each relation; None if records do not say their order."""
        return self._events if self._settings.transactions else None

    def _events(self, change: Change | Truncate) -> Iterator[tuple[int, int]]:
        op = Op.TRUNCATE if isinstance(change, Truncate) else change.op
        for relation in change.relations if isinstance(change, Truncate) else (change.relation,):
            envelope = self._envelopes.get(relation)
            if envelope is not None and op.value not in self._skipped:
                yield relation.oid, 1 if isinstance(change, Truncate) else envelope.events(change)

    def of_changes(self, changes: Sequence[Streamed], position: Position) -> list[SourceBatch]:
        """The records of changes behind a position, in their order."""
        made: list[SourceBatch] = []
        for as_columns, run in groupby(changes, lambda one: isinstance(one, StreamedRows) and self._is_all_news(one)):
            if as_columns:
                made += [batch for one in run if isinstance(one, StreamedRows) for batch in self._of_columns(one)]
            else:
                made += self._of_each(list(chain.from_iterable(map(_singly, run))), position)
        return made

    def _is_all_news(self, rows: StreamedRows) -> bool:
        """Whether no row may be one that a snapshot has read, so that none is looked at."""
        return self.progress is None or rows.begins[0].final_lsn >= self.progress.until_lsn

    def _of_columns(self, streamed: StreamedRows) -> Iterator[SourceBatch]:
        if self._envelope(streamed.relation) is None or streamed.op.value in self._skipped:
            return
        made_of = (streamed.op, streamed.rows, streamed.lsns, streamed.begins)
        envelope, (made,) = self._made(streamed.relation, lambda envelope: [envelope.created(*made_of)])
        places = (
            list(zip(streamed.begins, streamed.places, strict=True))
            if self._offsets
            else [(streamed.begin, streamed.n)]
        )
        behind = [Position(begin.final_lsn, n + 1) for begin, n in places]
        yield self._batch(envelope, made, [source_offset(place, self.progress) for place in behind])

    def _of_each(self, changes: Sequence[StreamedChange], position: Position) -> list[SourceBatch]:
        news = chain.from_iterable(map(self._news, changes))
        runs = (list(run) for _, run in groupby(news, lambda one: (id(one.relation), one.change is None)))
        return list(
            chain.from_iterable(
                self._truncations(run, position) if run[0].change is None else self._batches(run, position)
                for run in runs
            )
        )

    def of_rows(self, relation: Relation, rows: Sequence[Row], position: Position) -> list[SourceBatch]:
        """The records of rows of the snapshot, the last of which is as far as it has come."""
        progress = self.progress
        if self._envelopes[relation] is None or progress is None:
            return []
        origin = Origin(position.lsn, None, progress.taken_ms * 1000, snapshot="true")
        table = f"{relation.namespace}.{relation.name}"
        envelope, made = self._made(relation, lambda envelope: [envelope.read(rows, origin)])
        behind = progress.behind(table)
        keys = keys_of(relation, rows, behind) if self._offsets else [last_key(relation, rows, behind)]
        texts = progress.texts_at(relation, keys)
        offsets: list[SourceOffset] = [{**position.offset(), "snapshot": text} for text in texts]
        return [self._batch(envelope, one, offsets) for one in made]

    def of_chunk(
        self, relation: Relation, rows: Sequence[Row], origin: Origin, offsets: Sequence[SourceOffset]
    ) -> list[SourceBatch]:
        """The records of rows of an incremental snapshot, with the offsets behind them, or behind the last one."""
        changes, origins = [Change(Op.READ, relation, None, row) for row in rows], [origin] * len(rows)
        envelope, made = self._made(relation, lambda envelope: envelope.records(changes, origins, None))
        return [self._batch(envelope, one, offsets) for one in made]

    def of_nothing(self, position: Position) -> SourceBatch:
        """No record, but the offset moves on."""
        return SourceBatch(self._prefix, [], self._partition, source_offset(position, self.progress))

    def _news(self, streamed: StreamedChange) -> Iterable[_News]:
        change = streamed.change
        if isinstance(change, Truncate):
            return self._truncated(streamed, change)
        if self._envelope(change.relation) is None or change.op.value in self._skipped:
            return ()
        if self.progress is not None and streamed.begin.final_lsn < self.progress.until_lsn:
            unread = _unread(change, self.progress, streamed.begin.xid)
            return () if unread is None else (_News(streamed, change.relation, unread),)
        return (_News(streamed, change.relation, change),)

    def _envelope(self, relation: Relation) -> TableEnvelope | None:
        known, envelope = self._last
        if known is not relation:
            envelope = self._envelopes.get(relation)
            self._last = (relation, envelope)
        return envelope

    def _truncated(self, streamed: StreamedChange, change: Truncate) -> Iterator[_News]:
        progress, xid = self.progress, streamed.begin.xid
        news = [
            (at, relation)
            for at, relation in enumerate(change.relations)
            if "t" not in self._skipped
            and self._envelopes.get(relation) is not None
            and (progress is None or progress.truncation_is_news(relation, xid))
        ]
        for at, relation in news:
            yield _News(streamed, relation, None, at, at == news[-1][0])

    def _batches(self, run: Sequence[_News], position: Position) -> Iterator[SourceBatch]:
        envelope, made = self._made(run[0].relation, lambda envelope: _records(envelope, run))
        counts = Counter(chain.from_iterable(one.changes for one in made))
        places = _Places([one.streamed for one in run], counts, position)
        for one in made:
            done = places.done(one.changes)
            left = _without(one, done)
            positions = places.behind(one.changes)[done:] if self._offsets else [places.behind_last(one.changes)]
            if len(left.changes):
                cut = _marked(left) if places.is_cut(left.changes) else left
                yield self._batch(envelope, cut, [source_offset(place, self.progress) for place in positions])

    def _truncations(self, run: Sequence[_News], position: Position) -> Iterator[SourceBatch]:
        for one in run:
            streamed = one.streamed
            here = Position(streamed.begin.final_lsn, streamed.n, one.at)
            if here < position:
                continue  # returned before, without those of the other tables of its TRUNCATE
            origin = _origin(streamed, one.relation.oid)
            envelope, (made,) = self._made(one.relation, partial(_truncated_records, origin=origin))
            behind = position_behind(streamed) if one.is_last else replace(here, part=one.at + 1)
            cut = _marked(made) if streamed.is_cut and one.is_last else made
            yield self._batch(envelope, cut, [source_offset(behind, self.progress)])

    def _made(
        self, relation: Relation, make: Callable[[TableEnvelope], Iterable[Records]]
    ) -> tuple[TableEnvelope, list[Records]]:
        """Records of a table that is read, with the envelope that has their schemas."""
        while True:
            envelope = self._envelopes[relation]
            if envelope is None:
                raise KeyError(relation.name)
            try:
                return envelope, list(make(envelope))
            except UnexpectedNullError as older:
                self._envelopes[relation] = envelope.with_optional(older.column)
                self._last = (None, None)

    def _batch(self, envelope: TableEnvelope, made: Records, offsets: Sequence[SourceOffset]) -> SourceBatch:
        return SourceBatch(
            topic=envelope.topic,
            values=made.values,
            source_partition=self._partition,
            source_offset=offsets[-1],
            keys=made.keys,
            source_offsets=offsets if self._offsets else None,
            headers=made.headers,
            key_schema=envelope.key_schema,
            value_schema=None if made.are_tombstones else envelope.value_schema,
        )


class _Places:
    """Where the records of changes end, in their order: a change may make several."""

    def __init__(self, changes: Sequence[StreamedChange], counts: Counter[int], position: Position) -> None:
        self._changes, self._counts = changes, counts
        self._parts: Counter[int] = Counter()
        first = changes[0]
        resumed = (position.lsn, position.n) == (first.begin.final_lsn, first.n)
        self._done = position.part if resumed else 0

    def done(self, places: Sequence[int]) -> int:
        """How many of the next records were returned before."""
        done = min(self._done, places.count(0)) if self._done else 0
        self._done -= done
        return done

    def is_cut(self, places: Sequence[int]) -> bool:
        """Whether the transaction of the last of the next records is cut behind it."""
        return self._changes[places[-1]].is_cut

    def behind(self, places: Sequence[int]) -> list[Position]:
        """The positions behind the next records."""
        return [self.behind_last([place]) for place in places]

    def behind_last(self, places: Sequence[int]) -> Position:
        """The position behind the last of the next records."""
        self._parts.update(places)
        last = places[-1]
        change, part = self._changes[last], self._parts[last]
        if part == self._counts[last]:
            return position_behind(change)
        return Position(change.begin.final_lsn, change.n, part)


def _singly(streamed: Streamed) -> Iterable[StreamedChange]:
    return streamed.changes() if isinstance(streamed, StreamedRows) else (streamed,)


def _records(envelope: TableEnvelope, run: Sequence[_News]) -> Iterator[Records]:
    origins = [_origin(one.streamed, one.relation.oid) for one in run]
    changes = [one.change for one in run if one.change is not None]
    return envelope.records(changes, origins, None)


def _truncated_records(envelope: TableEnvelope, origin: Origin) -> list[Records]:
    return [envelope.truncated(origin, None)]


def _origin(streamed: StreamedChange, oid: int) -> Origin:
    # With the commit of its own transaction a change that is read again has the same pair, and the pairs have the
    # order of the changes.
    begin = streamed.begin
    origin = Origin(streamed.lsn, begin.xid, begin.commit_time, begin.final_lsn)
    if streamed.order is not None:
        origin.total_order, origin.table_order = streamed.order.get(oid, (0, 0))
    return origin


def _unread(change: Change, progress: SnapshotProgress, xid: int) -> Change | None:
    """What of a change is not in the rows that were read: of an update of a key it may be the half."""
    before, after, relation = change.before, change.after, change.relation
    if after is None or before is None or not relation.keys:
        row = after or before
        return change if row is None or progress.is_news(relation, row, xid) else None
    gone, come = (progress.is_news(relation, row, xid) for row in (before, after))
    if gone and come:
        return change
    if come:
        return Change(Op.CREATE, relation, None, after)
    return Change(Op.DELETE, relation, before, None) if gone and _moved(change) else None


def _moved(change: Change) -> bool:
    before, after = change.before or [], change.after or []
    return any(before[at] != after[at] for at in change.relation.keys)


def _marked(made: Records) -> Records:
    """Records the last of which says in a header that its transaction goes on."""
    headers = list(made.headers or [()] * len(made.changes))
    headers[-1] = (*headers[-1], (CONTINUES, b"true"))
    return made._replace(headers=headers)


def _without(made: Records, done: int) -> Records:
    """Records without the first ones."""
    if not done:
        return made
    return Records(
        made.keys and made.keys[done:], made.values[done:], made.headers and made.headers[done:], made.changes[done:]
    )
