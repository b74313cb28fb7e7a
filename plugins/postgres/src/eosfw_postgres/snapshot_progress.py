"""Which rows of the tables were read, in which snapshot of the database: what decides whether a change is news.

Rows are read in the order of their keys, table by table. A task that starts again goes on behind the last row whose
offset was committed, in a new snapshot, since the server keeps none beyond a connection. So the rows up to a key may be
from one snapshot, those behind it from another. The stream begins before all of them. A change is left out if its
transaction is visible in the snapshot in which the row of its key was, or would have been, read: that row has it
already. Every other change is news.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from eosfw.errors import DamagedDataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eosfw_postgres.pgoutput import Relation, Row

__all__ = ["ORDERED_AS_STORED", "SnapshotProgress", "VisibleTransactions", "order_of"]

Key: TypeAlias = tuple[str, ...]
Segment: TypeAlias = tuple[int, "Key | None"]
"""Rows up to a key, or all that are left, and the number of the snapshot in which they were read."""
_INTEGERS = frozenset((20, 21, 23))
ORDERED_AS_STORED = {20: "int8", 21: "int2", 23: "int4", 2950: "uuid"}
"""OIDs and names of types of keys whose index has the order in which rows are read; others are ordered by their texts.

Numbers are compared as such, and the text of a uuid has its order.
"""
_EPOCH = 1 << 32
_LONGEST = 1 << 14
"""A longer text is packed: each batch of the snapshot has one, and Kafka takes records of 1 MiB."""


_ANY_KEY = ("\0",)
"""No key of a table: PostgreSQL's texts have no such character."""


def _written(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _packed(text: str) -> str:
    return text if len(text) <= _LONGEST else b64encode(zlib.compress(text.encode(), 1)).decode()


def order_of(kinds: Sequence[int], key: Sequence[str]) -> tuple[int | bytes, ...]:
    """What compares as the server orders keys of these types in a snapshot."""
    return tuple(int(one) if kind in _INTEGERS else one.encode() for one, kind in zip(key, kinds, strict=True))


def key_columns(relation: Relation) -> tuple[tuple[str, int], ...]:
    """The columns of the key of a table, with the OIDs of their types."""
    return tuple((relation.columns[at].name, relation.columns[at].type_oid) for at in relation.keys)


def _other_key(table: str) -> DamagedDataError:
    return DamagedDataError(
        f"the key of table {table} was changed while its snapshot was interrupted, so which of its rows are in Kafka "
        f"is not known: reset the connector's offsets, and let it take a snapshot into new topics"
    )


@dataclass(frozen=True)
class VisibleTransactions:
    """A snapshot as `pg_current_snapshot` writes it, such as `100:104:100,102`: which transactions it shows."""

    text: str

    @cached_property
    def _parts(self) -> tuple[int, int, frozenset[int]]:
        low, high, running = self.text.split(":")
        return int(low), int(high), frozenset(map(int, filter(None, running.split(","))))

    @property
    def xmin(self) -> int:
        """Every transaction before it is decided."""
        return self._parts[0]

    def shows(self, xid: int) -> bool:
        """Whether a transaction that was committed is visible; its id has 32 bits, as the stream tells it."""
        low, high, running = self._parts
        whole = high - high % _EPOCH + xid
        if whole > high + _EPOCH // 2:
            whole -= _EPOCH
        elif whole < high - _EPOCH // 2:
            whole += _EPOCH
        return whole < low or (whole < high and whole not in running)


@dataclass(frozen=True)
class SnapshotProgress:
    """How far the snapshot of the tables has come."""

    snapshots: tuple[VisibleTransactions, ...] = ()
    """One for each attempt."""
    tables: Mapping[str, tuple[Segment, ...]] = field(default_factory=dict)
    """The segments of each table that was begun, in the order of keys."""
    complete: bool = False
    taken_ms: int = 0
    """When the last attempt began, in milliseconds since 1970."""
    until_lsn: int = 0
    """The log's end when the last attempt had its snapshot: what was committed behind it is news."""
    keys: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    """The columns of the key by which each table was read, with the OIDs of their types; not of those that were read
    in one segment."""

    def with_snapshot(self, snapshot: VisibleTransactions, taken_ms: int, until_lsn: int) -> SnapshotProgress:
        """The progress of another attempt; the last one counts only if it has read something."""
        last = len(self.snapshots) - 1
        read = any(number == last for segments in self.tables.values() for number, _ in segments)
        kept = self.snapshots if read else self.snapshots[:-1]
        return replace(self, snapshots=(*kept, snapshot), taken_ms=taken_ms, until_lsn=max(self.until_lsn, until_lsn))

    def is_read(self, table: str) -> bool:
        """Whether all rows of a table were read."""
        segments = self.tables.get(table)
        return segments is not None and segments[-1][1] is None

    def behind(self, table: str) -> Key | None:
        """The key behind which to go on in a table; None for its beginning."""
        segments = self.tables.get(table)
        return segments[-1][1] if segments else None

    def refuse_other_key(self, relation: Relation) -> None:
        """Refuse a table that was begun by another key than it has now: nothing says which rows are behind that."""
        table = f"{relation.namespace}.{relation.name}"
        if self.keys.get(table, key_columns(relation)) != key_columns(relation):
            raise _other_key(table)

    def at(self, relation: Relation, key: Key | None) -> SnapshotProgress:
        """The progress behind a row of the last snapshot; None stands for the end of the table."""
        table = f"{relation.namespace}.{relation.name}"
        last = len(self.snapshots) - 1
        segments = self.tables.get(table, ())
        if segments and segments[-1][0] == last:
            segments = segments[:-1]
        keys = {**self.keys, table: key_columns(relation)}
        if key is None and not segments:
            del keys[table]
        return replace(self, tables={**self.tables, table: (*segments, (last, key))}, keys=keys)

    def is_news(self, relation: Relation, row: Row, xid: int) -> bool:
        """Whether a change of a row is not in what was read of its table."""
        segments = self.tables.get(f"{relation.namespace}.{relation.name}")
        return segments is None or not self._snapshot_of(relation, segments, row).shows(xid)

    def truncation_is_news(self, relation: Relation, xid: int) -> bool:
        """Whether a truncation is not in what was read; DamagedDataError if a part of the rows has it alone."""
        segments = self.tables.get(f"{relation.namespace}.{relation.name}", ())
        shown = {self.snapshots[number].shows(xid) for number, _ in segments}
        if len(shown) > 1:
            raise DamagedDataError(
                f"table {relation.namespace}.{relation.name} was truncated while its snapshot was interrupted, so "
                f"which of its rows are left is not known: reset the connector's offsets, and let it take a snapshot "
                f"into new topics"
            )
        return True not in shown

    def _snapshot_of(self, relation: Relation, segments: Sequence[Segment], row: Row) -> VisibleTransactions:
        if len(segments) > 1:
            table = f"{relation.namespace}.{relation.name}"
            kinds = [kind for _, kind in self.keys[table]]
            place = order_of(kinds, self._key_of(relation, row, table))
            for number, bound in segments:
                if bound is None or place <= order_of(kinds, bound):
                    return self.snapshots[number]
        return self.snapshots[segments[-1][0]]

    def _key_of(self, relation: Relation, row: Row, table: str) -> list[str]:
        """The values of the columns by which the table was read, also if they are not the key of the change."""
        told = dict(zip(((one.name, one.type_oid) for one in relation.columns), row, strict=True))
        found = [told.get(column) for column in self.keys[table]]
        key = [one for one in found if isinstance(one, str)]
        if len(key) < len(found):
            raise _other_key(table)
        return key

    def text(self) -> str:
        """As a text of JSON, packed if it is long, for the source offset."""
        return self._text

    @cached_property
    def _text(self) -> str:  # each change that is behind a snapshot has it in its offset
        return _packed(self._json())

    def texts_at(self, relation: Relation, keys: Sequence[Key]) -> Iterator[str]:
        """The texts of the progress behind each of these rows of a table."""
        # What is the same for all rows is written once: there may be thousands of tables.
        written = self.at(relation, _ANY_KEY)._json()  # noqa: SLF001 - of this class
        before, after = written.split(_written(_ANY_KEY))
        return (_packed(f"{before}{_written(key)}{after}") for key in keys)

    def _json(self) -> str:
        return _written(
            {
                "snapshots": [one.text for one in self.snapshots],
                "tables": {table: [list(one) for one in segments] for table, segments in self.tables.items()},
                "complete": self.complete,
                "taken_ms": self.taken_ms,
                "until_lsn": self.until_lsn,
                "keys": self.keys,
            }
        )

    @classmethod
    def of(cls, text: str) -> SnapshotProgress:
        """The progress of a text; DamagedDataError if it is none."""
        try:
            found = json.loads(text if text.startswith("{") else zlib.decompress(b64decode(text)))
            return cls(
                tuple(map(VisibleTransactions, found["snapshots"])),
                {
                    table: tuple((number, None if key is None else tuple(key)) for number, key in segments)
                    for table, segments in found["tables"].items()
                },
                found["complete"],
                found["taken_ms"],
                found["until_lsn"],
                {table: tuple((name, oid) for name, oid in key) for table, key in found["keys"].items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError, zlib.error):
            raise DamagedDataError(
                "the source offset of the connector has a snapshot that cannot be read: reset its offsets"
            ) from None
