"""Records made of changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from eosfw.data import INT64, STRING, struct
from eosfw.records import SourceBatch
from eosfw_postgres.pgoutput import UNCHANGED, Change, Op, Relation, Truncate
from eosfw_postgres.position import Position
from eosfw_postgres.tables import TableFilter, primary_key, topic_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eosfw.config import Config
    from eosfw.data import Schema
    from eosfw.records import SourceOffset, SourcePartition
    from eosfw_postgres.changes import StreamedChange
    from eosfw_postgres.connection import Database
    from eosfw_postgres.pgoutput import Row

__all__ = ["ChangeRecords", "position_behind"]

_TEXT = STRING.as_optional()
_SOURCE = struct({"ts_ms": INT64, "schema": STRING, "table": STRING, "txId": INT64, "lsn": INT64}, "io.debezium.source")


class _Envelope:
    """The records of one relation."""

    def __init__(self, relation: Relation, topic: str) -> None:
        self._names = [one.name for one in relation.columns]
        self.keys = relation.keys
        row = struct(dict.fromkeys(self._names, _TEXT), f"{topic}.Value").as_optional()
        self.key_schema: Schema | None = (
            struct({self._names[at]: STRING for at in self.keys}, f"{topic}.Key") if self.keys else None
        )
        self.value_schema = struct(
            {"before": row, "after": row, "source": _SOURCE, "op": STRING, "ts_ms": INT64}, f"{topic}.Envelope"
        ).as_optional()

    def key(self, row: Row) -> dict[str, Any] | None:
        return {self._names[at]: row[at] for at in self.keys} if self.keys else None

    def value(self, op: Op, before: Row | None, after: Row | None, source: dict[str, Any]) -> dict[str, Any]:
        return {
            "before": self._struct(before),
            "after": self._struct(after),
            "source": source,
            "op": op.value,
            "ts_ms": source["ts_ms"],
        }

    def _struct(self, row: Row | None) -> dict[str, Any] | None:
        if row is None:
            return None
        row = ["__debezium_unavailable_value" if value is UNCHANGED else value for value in row]
        return dict(zip(self._names, row, strict=True))


class _Record(NamedTuple):
    relation: Relation
    key: dict[str, Any] | None
    value: dict[str, Any] | None
    position: Position


@dataclass(slots=True)
class _Columns:
    """Records of one relation that follow each other."""

    relation: Relation
    keys: list[dict[str, Any] | None] = field(default_factory=list)
    values: list[dict[str, Any] | None] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)

    def add(self, record: _Record) -> None:
        self.keys.append(record.key)
        self.values.append(record.value)
        self.positions.append(record.position)


def position_behind(change: StreamedChange) -> Position:
    """The position behind a change."""
    return Position(change.begin.final_lsn, change.n + 1)


class ChangeRecords:
    """Makes records of changes, with the offset behind each."""

    def __init__(self, config: Config, database: Database, partition: SourcePartition, *, offsets: bool) -> None:
        self._config, self._database, self._partition, self._offsets = config, database, partition, offsets
        self._wanted = TableFilter.of(config)
        self._envelopes: dict[Relation, _Envelope | None] = {}

    def complete(self, relation: Relation) -> Relation:
        """A relation with the key of its table; with REPLICA IDENTITY FULL the server marks all columns as the key."""
        if relation.replica_identity != "f":
            return relation
        with self._database.session() as session:
            return relation.with_keys(frozenset(primary_key(session, relation.oid)))

    def batches(self, changes: Sequence[StreamedChange], position: Position) -> list[SourceBatch]:
        """The records of changes behind a position, in their order."""
        runs: list[_Columns] = []
        for change in changes:
            for record in self._records(change, position):
                if not runs or runs[-1].relation is not record.relation:
                    runs.append(_Columns(record.relation))
                runs[-1].add(record)
        return [self._batch(run) for run in runs]

    def _records(self, change: StreamedChange, position: Position) -> Iterator[_Record]:
        lsn = change.begin.final_lsn
        records = self._of(change)
        done = position.part if (position.lsn, position.n) == (lsn, change.n) else 0
        for part, (relation, key, value) in enumerate(records[done:], start=done + 1):
            behind = Position(lsn, change.n, part) if part < len(records) else Position(lsn, change.n + 1)
            yield _Record(relation, key, value, behind)

    def _of(self, streamed: StreamedChange) -> list[tuple[Relation, Any, Any]]:
        change = streamed.change
        if isinstance(change, Truncate):
            return [
                (relation, None, envelope.value(Op.TRUNCATE, None, None, self._source(streamed, relation)))
                for relation in change.relations
                if (envelope := self._envelope(relation)) is not None and "t" not in self._config["skipped.operations"]
            ]
        envelope = self._envelope(change.relation)
        if envelope is None or change.op.value in self._config["skipped.operations"]:
            return []
        return self._of_row(change, envelope, self._source(streamed, change.relation))

    def _of_row(self, change: Change, envelope: _Envelope, source: dict[str, Any]) -> list[tuple[Relation, Any, Any]]:
        before, after, relation = change.before, change.after, change.relation
        if after is None:
            return self._deleted(relation, envelope, before or [], source)
        key = envelope.key(after)
        if before is not None and change.op is Op.UPDATE and envelope.key(before) != key:
            made = (relation, key, envelope.value(Op.CREATE, None, after, source))
            return [*self._deleted(relation, envelope, before, source), made]
        shown = before if relation.replica_identity == "f" else None
        return [(relation, key, envelope.value(change.op, shown, after, source))]

    def _deleted(
        self, relation: Relation, envelope: _Envelope, before: Row, source: dict[str, Any]
    ) -> list[tuple[Relation, Any, Any]]:
        key = envelope.key(before)
        deleted = (relation, key, envelope.value(Op.DELETE, before, None, source))
        return [deleted, (relation, key, None)] if key and self._config["tombstones.on.delete"] else [deleted]

    def _source(self, streamed: StreamedChange, relation: Relation) -> dict[str, Any]:
        begin = streamed.begin
        return {
            "ts_ms": begin.commit_time // 1000,
            "schema": relation.namespace,
            "table": relation.name,
            "txId": begin.xid,
            "lsn": begin.final_lsn,
        }

    def _envelope(self, relation: Relation) -> _Envelope | None:
        if relation not in self._envelopes:
            wanted = self._wanted(relation.namespace, relation.name)
            self._envelopes[relation] = _Envelope(relation, self._topic(relation)) if wanted else None
        return self._envelopes[relation]

    def _topic(self, relation: Relation) -> str:
        return topic_of(self._config["topic.prefix"], relation.namespace, relation.name)

    def _batch(self, run: _Columns) -> SourceBatch:
        envelope = self._envelopes[run.relation]
        offsets: list[SourceOffset] | None = [one.offset() for one in run.positions] if self._offsets else None
        return SourceBatch(
            topic=self._topic(run.relation),
            values=run.values,
            source_partition=self._partition,
            source_offset=run.positions[-1].offset(),
            keys=run.keys,
            source_offsets=offsets,
            key_schema=envelope.key_schema if envelope else None,
            value_schema=envelope.value_schema if envelope else None,
        )
