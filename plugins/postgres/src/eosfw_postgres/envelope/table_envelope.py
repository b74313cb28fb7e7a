"""The records of one table's changes, in Debezium's envelope."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from eosfw.data import RepeatedValue, Schema, SchemaAndValue, StructColumns
from eosfw_postgres.envelope.names import schema_names
from eosfw_postgres.envelope.row_columns import RowColumns, shown_columns
from eosfw_postgres.envelope.schemas import envelope
from eosfw_postgres.envelope.settings import EnvelopeSettings
from eosfw_postgres.envelope.table_details import TableDetails
from eosfw_postgres.pgoutput import Begin, Change, Op, Relation, Row
from eosfw_postgres.types import Catalog

__all__ = ["NEW_KEY", "OLD_KEY", "Origin", "Records", "TableEnvelope"]

NEW_KEY = "__debezium.newkey"
"""The header of the delete that an update of a key becomes: a struct with the new key."""
OLD_KEY = "__debezium.oldkey"
"""The header of the create that an update of a key becomes."""


# Not frozen: one is made for each change, and a frozen one takes four times as long to make.
@dataclass(slots=True)
class Origin:
    """Where a change is from; LSNs are numbers, times microseconds since 1970."""

    lsn: int | None
    xid: int | None
    commit_time: int
    last_commit_lsn: int | None = None
    """The LSN of the last transaction that was committed before."""
    snapshot: str = "false"
    """`true`, `first`, `first_in_data_collection`, `last_in_data_collection`, `last`, `incremental` for rows read."""
    total_order: int = 0
    """The place of the change in its transaction, from 1, `TableEnvelope.events` counted; 0 for none."""
    table_order: int = 0
    """Its place among the changes of its table."""


@dataclass(frozen=True, slots=True)
class _Origins:
    """Where changes are from, as columns."""

    lsn: Sequence[int | None]
    xid: Sequence[int | None]
    commit_time: Sequence[int]
    last_commit_lsn: Sequence[int | None]
    snapshot: Sequence[str]
    transaction: Sequence[dict[str, Any] | None]

    @classmethod
    def of(cls, origins: Sequence[Origin], transactions: Sequence[dict[str, Any] | None]) -> _Origins:
        """The origins of single changes."""
        return cls(
            [one.lsn for one in origins],
            [one.xid for one in origins],
            [one.commit_time for one in origins],
            [one.last_commit_lsn for one in origins],
            [one.snapshot for one in origins],
            transactions,
        )

    @classmethod
    def shared(cls, one: Origin, count: int) -> _Origins:
        """The origin that so many rows share."""
        parts = (one.lsn, one.xid, one.commit_time, one.last_commit_lsn, one.snapshot, None)
        return cls(*(RepeatedValue(part, count) for part in parts))

    @classmethod
    def of_rows(cls, lsns: Sequence[int], begins: Sequence[Begin]) -> _Origins:
        """The origins of rows whose order in their transactions nobody asks for."""
        count, begin = len(lsns), begins[0]
        snapshot, transaction = RepeatedValue("false", count), RepeatedValue(None, count)
        if begins[-1] is begin:  # so are those between
            parts = (begin.xid, begin.commit_time, begin.final_lsn)
            xid, commit_time, final_lsn = (RepeatedValue(part, count) for part in parts)
            return cls(lsns, xid, commit_time, final_lsn, snapshot, transaction)
        return cls(
            lsns,
            [one.xid for one in begins],
            [one.commit_time for one in begins],
            [one.final_lsn for one in begins],
            snapshot,
            transaction,
        )

    @property
    def sequence(self) -> Sequence[str]:
        """Of each the texts of the two LSNs, as JSON."""
        if isinstance(self.lsn, RepeatedValue) and isinstance(self.last_commit_lsn, RepeatedValue):
            return RepeatedValue(_sequence(self.last_commit_lsn.value, self.lsn.value), len(self.lsn))
        return list(map(_sequence, self.last_commit_lsn, self.lsn))


class Records(NamedTuple):
    """Records that follow each other, as columns."""

    keys: Sequence[Any] | None
    """None if the table has no key."""
    values: Sequence[Any]
    """Structs, mostly as columns; or a tombstone alone."""
    headers: Sequence[tuple[tuple[str, Any], ...]] | None
    changes: Sequence[int]
    """For each record the place of its change among those that were given."""

    @property
    def are_tombstones(self) -> bool:
        """Whether the records have no values, and so no schema: with one a converter might write a null."""
        return len(self.values) == 1 and self.values[0] is None


class _Row(NamedTuple):
    """A change with its place among all."""

    at: int
    change: Change
    origin: Origin


class TableEnvelope:
    """Makes records of the changes of a relation, as long as it does not change itself."""

    def __init__(
        self,
        relation: Relation,
        details: TableDetails,
        catalog: Catalog,
        settings: EnvelopeSettings,
        topic: str,
        notice: Callable[[str, str], None],
    ) -> None:
        self.topic = topic
        self._details = details
        self._made_with = partial(
            TableEnvelope, relation, catalog=catalog, settings=settings, topic=topic, notice=notice
        )
        self._relation, self._settings = relation, settings
        self._rows = shown_columns(relation, details, catalog, settings, notice)
        adjusted = schema_names(settings.schema_names)
        names = _key_columns(relation, details, settings)
        self._key: RowColumns | None = self._rows.named(names) if names else None
        self.key_schema: Schema | None = self._key.schema(adjusted(f"{topic}.Key")) if self._key else None
        self.value_schema = envelope(adjusted(f"{topic}.Envelope"), self._rows.schema(adjusted(f"{topic}.Value")))

    def with_optional(self, column: str) -> TableEnvelope:
        """The same, but the column may be null."""
        return self._made_with(self._details.with_optional(column))

    def records(self, changes: Sequence[Change], origins: Sequence[Origin], now: int | None) -> Iterator[Records]:
        """The records of changes of this relation, in their order; `now` in nanoseconds since 1970.

        None stands for the time of each commit: a change that is read again gives the same record. Changes of one kind
        that follow each other become columns. UnexpectedNullError for a row that is older than NOT NULL.
        """
        rows = [_Row(at, *pair) for at, pair in enumerate(zip(changes, origins, strict=True))]
        for (op, _, moved), group in groupby(rows, self._kind):
            run = list(group)
            if moved:
                for one in run:
                    yield from self._moved(one, now)
            elif op is Op.DELETE:
                yield from self._deleted(run, now)
            else:
                before = self._before(run) if self._relation.replica_identity == "f" and op is Op.UPDATE else None
                yield self._kept(op, run, before, now)

    def read(self, rows: Sequence[Row], origin: Origin) -> Records:
        """The records of rows that a snapshot has found. UnexpectedNullError for a row that is older than NOT NULL."""
        count = len(rows)
        nothing, origins = RepeatedValue(None, count), _Origins.shared(origin, count)
        values = self._values(Op.READ, origins, nothing, self._rows.structs(rows), None)
        return Records(None if self._key is None else self._key.structs(rows), values, None, range(count))

    def created(self, op: Op, rows: Sequence[Row], lsns: Sequence[int], begins: Sequence[Begin]) -> Records:
        """The records of rows that were created, or updated without a word on the rows before."""
        count = len(rows)
        values = self._values(
            op, _Origins.of_rows(lsns, begins), RepeatedValue(None, count), self._rows.structs(rows), None
        )
        return Records(None if self._key is None else self._key.structs(rows), values, None, range(count))

    def truncated(self, origin: Origin, now: int | None) -> Records:
        """The record of a TRUNCATE, which has no key."""
        nothing = _Row(0, Change(Op.TRUNCATE, self._relation, None, None), origin)
        values = self._values(Op.TRUNCATE, self._origins([nothing]), [None], [None], now)
        return Records(None if self._key is None else [None], values, None, [0])

    def events(self, change: Change) -> int:
        """How many places in its transaction a change takes: two for an update of the key."""
        return 2 if self._has_moved(change) else 1

    def _kind(self, row: _Row) -> tuple[Op, bool, bool]:
        """Changes of one kind become columns together; the last says whether the key has changed."""
        change = row.change
        return change.op, change.before is not None, self._has_moved(change)

    def _has_moved(self, change: Change) -> bool:
        before, after = change.before, change.after
        if change.op is not Op.UPDATE or self._key is None or before is None or after is None:
            return False
        return self._key.texts(before) != self._key.texts(after)

    def _kept(self, op: Op, run: list[_Row], before: StructColumns | None, now: int | None) -> Records:
        """Rows that are there afterwards: created, read, updated."""
        rows = [one.change.after for one in run if one.change.after is not None]
        nothing = RepeatedValue(None, len(run))
        values = self._values(op, self._origins(run), before or nothing, self._rows.structs(rows), now)
        keys = None if self._key is None else self._key.structs(rows)
        return Records(keys, values, None, [one.at for one in run])

    def _deleted(self, run: list[_Row], now: int | None) -> Iterator[Records]:
        """Rows that are gone, each with its tombstone behind it, which has no schema and so stands by itself."""
        nothing = RepeatedValue(None, len(run))
        values = self._values(Op.DELETE, self._origins(run), self._before(run), nothing, now)
        if self._key is None:
            yield Records(None, values, None, [one.at for one in run])
            return
        keys = self._key.structs([_old(one.change) for one in run], partial=True)
        if not self._settings.tombstones:
            yield Records(keys, values, None, [one.at for one in run])
            return
        for one, key, value in zip(run, keys, values, strict=True):
            yield Records([key], [value], None, [one.at])
            yield Records([key], [None], None, [one.at])

    def _moved(self, row: _Row, now: int | None) -> Iterator[Records]:
        """An update of the key: a delete, its tombstone, a create, which name each other's keys."""
        origin = row.origin
        second = replace(origin, total_order=origin.total_order + 1, table_order=origin.table_order + 1)
        later = row._replace(origin=second if origin.total_order else origin)
        gone, created = list(self._deleted([row], now)), self._kept(Op.CREATE, [later], None, now)
        old_key, new_key = (SchemaAndValue(self.key_schema, made.keys and made.keys[0]) for made in (gone[0], created))
        for made in gone:
            yield made._replace(headers=[((NEW_KEY, new_key),)])
        yield created._replace(headers=[((OLD_KEY, old_key),)])

    def _before(self, run: list[_Row]) -> StructColumns:
        is_partial = self._relation.replica_identity != "f"
        return self._rows.structs([_old(one.change) for one in run], partial=is_partial)

    def _origins(self, run: Sequence[_Row]) -> _Origins:
        origins = [one.origin for one in run]
        return _Origins.of(origins, [self._transaction(one) for one in origins])

    def _values(
        self, op: Op, origins: _Origins, before: Sequence[Any], after: Sequence[Any], now: int | None
    ) -> StructColumns:
        count = len(origins.lsn)
        times = _each(origins.commit_time, lambda time: time * 1000 if now is None else now)
        columns: dict[str, Sequence[Any]] = {
            "before": before,
            "after": after,
            "source": self._source(origins),
            "transaction": origins.transaction,
            "op": RepeatedValue(op.value, count),
            "ts_ms": _each(times, lambda time: time // 1_000_000),
            "ts_us": _each(times, lambda time: time // 1000),
            "ts_ns": times,
        }
        return StructColumns(columns, count)

    def _source(self, origins: _Origins) -> StructColumns:
        count, times = len(origins.lsn), origins.commit_time
        settings, relation = self._settings, self._relation
        columns: dict[str, Sequence[Any]] = {
            "version": RepeatedValue(settings.version, count),
            "connector": RepeatedValue("postgresql", count),
            "name": RepeatedValue(settings.prefix, count),
            "ts_ms": _each(times, lambda time: time // 1000),
            "snapshot": origins.snapshot,
            "db": RepeatedValue(settings.database, count),
            "sequence": origins.sequence,
            "ts_us": times,
            "ts_ns": _each(times, lambda time: time * 1000),
            "schema": RepeatedValue(relation.namespace, count),
            "table": RepeatedValue(relation.name, count),
            "txId": origins.xid,
            "lsn": origins.lsn,
            "xmin": RepeatedValue(None, count),
        }
        return StructColumns(columns, count)

    def _transaction(self, origin: Origin) -> dict[str, Any] | None:
        if not self._settings.transactions or not origin.total_order:
            return None
        return {
            "id": f"{origin.xid}:{origin.lsn}",
            "total_order": origin.total_order,
            "data_collection_order": origin.table_order,
        }


def _key_columns(relation: Relation, details: TableDetails, settings: EnvelopeSettings) -> Sequence[str]:
    chosen = settings.key_columns(f"{relation.namespace}.{relation.name}")
    if chosen is not None:
        return chosen
    sent = [one.name for one in relation.columns if one.is_key]
    # With REPLICA IDENTITY USING INDEX a deleted row has the columns of the index alone; the primary key of the catalog
    # may be a newer one than that of the change.
    if relation.replica_identity == "i" or (relation.replica_identity == "d" and set(sent) != set(details.primary_key)):
        return sent
    return details.primary_key


def _old(change: Change) -> Row:
    """The row before, as far as it was sent."""
    return change.before if change.before is not None else [None] * len(change.relation.columns)


def _each(column: Sequence[int], make: Callable[[int], int]) -> Sequence[int]:
    """A column with what is made of each value."""
    if isinstance(column, RepeatedValue):
        return RepeatedValue(make(column.value), len(column))
    return list(map(make, column))


def _sequence(last_commit_lsn: int | None, lsn: int | None) -> str:
    return f"[{_quoted(last_commit_lsn)},{_quoted(lsn)}]"


def _quoted(number: int | None) -> str:
    return "null" if number is None else f'"{number}"'
