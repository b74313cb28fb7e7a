"""The messages of PostgreSQL's output plugin `pgoutput`, protocol version 1, decoded from their bytes.

Values stay texts, as the server's output functions write them. Log sequence numbers (LSN) are numbers here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import TypeAlias

from eosfw.errors import DamagedDataError

__all__ = [
    "UNCHANGED",
    "Begin",
    "Change",
    "Column",
    "Commit",
    "Message",
    "Op",
    "PgoutputDecoder",
    "Relation",
    "Row",
    "Truncate",
    "Unchanged",
    "lsn_text",
]


class Unchanged(Enum):
    """Stands for a value that is stored out of line (TOAST) and did not change, so that the server does not send it."""

    TOAST = "unchanged TOAST"


UNCHANGED = Unchanged.TOAST
Row: TypeAlias = "list[str | Unchanged | None]"
"""The values of a row in the order of its relation's columns; None is null."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation; `is_key` says that it is a part of the replica identity, which is the record's key."""

    name: str
    type_oid: int
    typmod: int
    is_key: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as it was when its changes were made; `replica_identity` is `pg_class.relreplident`: d, n, f or i."""

    oid: int
    namespace: str
    name: str
    replica_identity: str
    columns: tuple[Column, ...]

    @property
    def keys(self) -> tuple[int, ...]:
        """The places of the columns of the key."""
        return tuple(at for at, column in enumerate(self.columns) if column.is_key)

    def with_keys(self, names: frozenset[str]) -> Relation:
        """The same relation, whose key are these columns."""
        return replace(self, columns=tuple(replace(one, is_key=one.name in names) for one in self.columns))


class Op(Enum):
    """What happened to a row, by Debezium's letters."""

    CREATE = "c"
    UPDATE = "u"
    DELETE = "d"
    READ = "r"
    TRUNCATE = "t"


@dataclass(frozen=True, slots=True)
class Begin:
    """The transaction whose changes follow: LSN of its commit, its time in microseconds since 1970, its id."""

    final_lsn: int
    commit_time: int
    xid: int


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a transaction; `end_lsn` is the LSN behind it."""

    commit_lsn: int
    end_lsn: int
    commit_time: int


# Not frozen: one is made for each change, and a frozen one takes four times as long to make.
@dataclass(slots=True)
class Change:
    """A row that was inserted, updated or deleted.

    `before` is the old row with REPLICA IDENTITY FULL; else the key alone has values in it, and only where it was
    changed or stored out of line, or the row deleted. None where the server sends nothing. What of `after` did not
    change, and was not sent, is that of `before` if that has it.
    """

    op: Op
    relation: Relation
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class Truncate:
    """Relations that one TRUNCATE has emptied."""

    relations: tuple[Relation, ...]


Message: TypeAlias = Begin | Commit | Change | Truncate | Relation | None
"""None for a message that says nothing of rows, such as one about a type."""

_POSTGRES_EPOCH = 946_684_800_000_000
"""2000-01-01 in microseconds since 1970: PostgreSQL's times count from there."""
_BEGIN = Struct(">QqI")
_COMMIT = Struct(">BQQq")
_OID = Struct(">I")
_SHORT = Struct(">H")
_TYPE = Struct(">Ii")
_TRUNCATED = Struct(">IB")
_TEXT, _NULL, _TOAST = b"tnu"
_KEY, _OLD, _NEW = b"KON"


def lsn_text(lsn: int) -> str:
    """An LSN as PostgreSQL writes it, such as `0/16B3748`."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


class PgoutputDecoder:
    """Decodes the messages of one replication stream, in their order: a relation is sent before its first change."""

    def __init__(self) -> None:
        self._relations: dict[int, Relation] = {}

    def decode(self, message: bytes) -> Message:
        """The message; DamagedDataError for bytes that are none."""
        kind = message[:1]
        try:
            if kind == b"I":
                return self._insert(message)
            if kind == b"U":
                return self._update(message)
            if kind == b"D":
                return self._delete(message)
            return self._other(kind, message)
        except (StructError, IndexError, UnicodeDecodeError, ValueError) as why:
            raise DamagedDataError(
                f"a message {kind.decode(errors='replace')!r} of pgoutput cannot be read ({type(why).__name__}): "
                "see whether the server is PostgreSQL 14 or later and its encoding is one that becomes UTF-8"
            ) from None

    def relation_of(self, message: bytes) -> Relation | None:
        """The relation of a message about a row; None if it was not sent."""
        return self._relations.get(_OID.unpack_from(message, 1)[0])

    def replace_relation(self, relation: Relation) -> None:
        """Give later changes this relation, such as one whose key is that of the table."""
        self._relations[relation.oid] = relation

    def _other(self, kind: bytes, message: bytes) -> Message:
        if kind == b"B":
            lsn, time, xid = _BEGIN.unpack_from(message, 1)
            return Begin(lsn, time + _POSTGRES_EPOCH, xid)
        if kind == b"C":
            _, lsn, end, time = _COMMIT.unpack_from(message, 1)
            return Commit(lsn, end, time + _POSTGRES_EPOCH)
        if kind == b"R":
            relation = _relation(message)
            self._relations[relation.oid] = relation
            return relation
        if kind == b"T":
            count, _ = _TRUNCATED.unpack_from(message, 1)
            return Truncate(tuple(self._named(message, 6 + 4 * at) for at in range(count)))
        if kind in (b"Y", b"O", b"M"):
            return None
        raise ValueError(kind)

    def _named(self, message: bytes, at: int) -> Relation:
        oid: int = _OID.unpack_from(message, at)[0]
        relation = self._relations.get(oid)
        if relation is None:
            raise ValueError(oid)
        return relation

    def _insert(self, message: bytes) -> Change:
        row, _ = _row(message, 6)
        return Change(Op.CREATE, self._named(message, 1), None, row)

    def _update(self, message: bytes) -> Change:
        before, at = None, 5
        if message[at] in (_KEY, _OLD):
            before, at = _row(message, at + 1)
        if message[at] != _NEW:
            raise ValueError(message[at])
        after, _ = _row(message, at + 1)
        if before is not None and UNCHANGED in after:
            # Of a value that is stored out of line the old row has what the new one leaves out, a key most of all.
            after = [
                old if new is UNCHANGED and old is not None else new for new, old in zip(after, before, strict=True)
            ]
        return Change(Op.UPDATE, self._named(message, 1), before, after)

    def _delete(self, message: bytes) -> Change:
        before, _ = _row(message, 6)
        return Change(Op.DELETE, self._named(message, 1), before, None)


def _row(message: bytes, at: int) -> tuple[Row, int]:
    """The row at a place, and the place behind it."""
    count = message[at] << 8 | message[at + 1]
    at += 2
    row: Row = []
    for _ in range(count):
        kind = message[at]
        if kind == _TEXT:
            start = at + 5
            at = start + int.from_bytes(message[at + 1 : start], "big")
            row.append(message[start:at].decode())
        elif kind == _NULL:
            row.append(None)
            at += 1
        elif kind == _TOAST:
            row.append(UNCHANGED)
            at += 1
        else:
            raise ValueError(kind)
    if at > len(message):
        raise ValueError(at)
    return row, at


def _text(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(b"\0", at)
    return message[at:end].decode(), end + 1


def _relation(message: bytes) -> Relation:
    oid: int = _OID.unpack_from(message, 1)[0]
    namespace, at = _text(message, 5)
    name, at = _text(message, at)
    identity = chr(message[at])
    count: int = _SHORT.unpack_from(message, at + 1)[0]
    at += 3
    columns = []
    for _ in range(count):
        is_key = bool(message[at] & 1)
        column, at = _text(message, at + 1)
        type_oid, typmod = _TYPE.unpack_from(message, at)
        at += _TYPE.size
        columns.append(Column(column, type_oid, typmod, is_key))
    # An empty namespace stands for pg_catalog.
    return Relation(oid, namespace or "pg_catalog", name, identity, tuple(columns))
