"""The changes behind a position, read from a replication stream."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from eosfw.errors import DamagedDataError
from eosfw_postgres.connection import BATCH_BYTES
from eosfw_postgres.pgoutput import Begin, Change, Commit, Op, PgoutputDecoder, Relation, Truncate
from eosfw_postgres.position import Position
from eosfw_postgres.row_arrays import RowArrays, are_enough_for_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from eosfw_postgres.replication.stream import ReplicationStream

__all__ = ["ChangeReader", "Streamed", "StreamedChange", "StreamedRows"]


_HEAD = itemgetter(slice(6))
"""Kind and relation of a message, and whether the new row follows."""
_NEW = b"N"
_TUPLE = 6
"""Where that begins."""
_ROWS, _BOUNDS = b"IU", (b"B", b"C")
"""Kinds of messages of rows, and of a transaction's begin and end."""


# Not frozen: one is made for each change, and a frozen one takes four times as long to make.
@dataclass(slots=True)
class StreamedChange:
    """A change with its transaction; `n` counts the changes of the transaction from 0."""

    begin: Begin
    n: int
    change: Change | Truncate
    lsn: int
    """Where the log has the change."""
    order: Mapping[int, tuple[int, int]] | None = None
    """For each relation, by its oid, the place in the transaction and that among the changes of the relation, from 1;
    None where nobody asks."""
    ends: bool = False
    """Whether it is the last one of its transaction; known only where whole transactions are asked for."""
    is_cut: bool = False
    """Whether its transaction is cut behind it, since it is too long."""


@dataclass(frozen=True, slots=True)
class StreamedRows:
    """Many rows that were created, or updated without a word on the row before, one behind the other."""

    relation: Relation
    op: Op
    rows: RowArrays
    begins: Sequence[Begin]
    """For each row its transaction."""
    places: Sequence[int]
    """For each row how many changes of its transaction are before it."""
    lsns: Sequence[int]
    """Where the log has each row."""
    ends: ClassVar[bool] = False
    is_cut: ClassVar[bool] = False

    @property
    def begin(self) -> Begin:
        """The transaction of the last row."""
        return self.begins[-1]

    @property
    def n(self) -> int:
        """The place of the last row."""
        return self.places[-1]

    def changes(self) -> Iterator[StreamedChange]:
        """Each change by itself."""
        for begin, n, row, lsn in zip(self.begins, self.places, self.rows, self.lsns, strict=True):
            yield StreamedChange(begin, n, Change(self.op, self.relation, None, row), lsn)


Streamed: TypeAlias = "StreamedChange | StreamedRows"


class _Undecoded:
    """Messages of rows, with what `StreamedRows` tells of each."""

    __slots__ = ("begins", "lsns", "messages", "places")

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.begins: list[Begin] = []
        self.places: list[int] = []
        self.lsns: list[int] = []

    def runs(self) -> Iterator[tuple[int, int]]:
        """Where messages of one kind and one relation begin and end, that follow each other."""
        at = 0
        for _, run in groupby(self.messages, _HEAD):
            yield at, (at := at + sum(1 for _ in run))


class ChangeReader:
    """Reads changes behind a position, in the order in which their transactions were committed.

    The server repeats a transaction from its beginning, whatever part of it is done.
    """

    def __init__(
        self,
        stream: ReplicationStream,
        position: Position,
        complete: Callable[[Relation], Relation],
        events: Callable[[Change | Truncate], Iterable[tuple[int, int]]] | None = None,
    ) -> None:
        self._stream, self._decoder, self._position = stream, PgoutputDecoder(), position
        self._complete = complete
        """Gives a relation the key of its table."""
        self._events = events
        """How many events a change is for each relation, by its oid; None where nobody asks for their order."""
        self._counts: Counter[int] = Counter()
        self._begin: Begin | None = None
        self._held: StreamedChange | None = None
        self._n = 0
        self._skipped: float = 0

    @property
    def in_transaction(self) -> bool:
        """Whether more changes of a transaction are to come."""
        return self._begin is not None

    def read(self, most: int, timeout: float) -> list[Streamed]:
        """As many changes as are at hand, of little more than `BATCH_BYTES`; waits `timeout` seconds for the first."""
        found: list[Streamed] = []
        rows, count, size = _Undecoded(), 0, 0
        while count < most and size < BATCH_BYTES:
            message = self._stream.read(0 if count else timeout)
            if message is None:
                break
            if message[5:6] == _NEW and message[0] in _ROWS and self._events is None:
                n, self._n = self._n, self._n + 1
                if n >= self._skipped:
                    rows.messages.append(message)
                    rows.begins.append(self._transaction())
                    rows.places.append(n)
                    rows.lsns.append(self._stream.message_lsn)
                    count, size = count + 1, size + len(message)
                continue
            if message[:1] not in _BOUNDS and rows.messages:  # another description of a relation is not theirs
                found += self._decoded(rows)
                rows = _Undecoded()
            change = self._take(message)
            if change is not None:
                found.append(change)
                count, size = count + 1, size + len(message)
        return [*found, *self._decoded(rows)]

    def _decoded(self, rows: _Undecoded) -> Iterator[Streamed]:
        """Rows as columns, where there are many of one relation."""
        for start, end in rows.runs():
            begins, places, lsns = rows.begins[start:end], rows.places[start:end], rows.lsns[start:end]
            messages = rows.messages[start:end]
            relation, made = self._in_arrays(messages) if are_enough_for_arrays(end - start) else (None, None)
            if relation is not None and made is not None:
                op = Op.CREATE if messages[0][:1] == b"I" else Op.UPDATE
                yield StreamedRows(relation, op, made, begins, places, lsns)
                continue
            for begin, n, message, lsn in zip(begins, places, messages, lsns, strict=True):
                change = self._decoder.decode(message)
                if isinstance(change, Change):
                    yield StreamedChange(begin, n, change, lsn)

    def _in_arrays(self, messages: Sequence[bytes]) -> tuple[Relation | None, RowArrays | None]:
        """Rows of one relation; None if one of them has to be looked at."""
        from eosfw_postgres.tuple_arrays import rows_of_tuples

        relation = self._decoder.relation_of(messages[0])
        if relation is None or not relation.columns:
            return relation, None
        return relation, rows_of_tuples(messages, _TUPLE, len(relation.columns))

    def read_transaction(self, most: int, longest: int, timeout: float) -> list[Streamed]:
        """As `read`, but changes of one transaction alone; its last one says that it is, and so does each `longest`th.

        The last change at hand is kept back until it is known whether it ends its transaction.
        """
        found: list[Streamed] = []
        size = 0
        while len(found) < most and (size < BATCH_BYTES or not found):
            message = self._stream.read(0 if found else timeout)
            if message is None:
                break
            change = self._take(message)
            ends = self._begin is None
            if self._held is not None and (ends or change is not None):
                self._held.ends, self._held.is_cut = ends, not ends and (self._held.n + 1) % longest == 0
                found.append(self._held)
                self._held = None
            self._held = change or self._held
            size += len(message)
            if found and (found[-1].ends or found[-1].is_cut):
                break
        return found

    def _take(self, message: bytes) -> StreamedChange | None:
        """The change of a message, if it is one and was not done before."""
        decoded = self._decoder.decode(message)
        if isinstance(decoded, Change | Truncate):
            n, self._n = self._n, self._n + 1
            order = None if self._events is None else self._placed(self._events(decoded))
            if n < self._skipped:
                return None
            return StreamedChange(self._transaction(), n, decoded, self._stream.message_lsn, order)
        if isinstance(decoded, Begin):
            self._begin, self._n = decoded, 0
            self._counts.clear()
            self._skipped = self._done_of(decoded)
        elif isinstance(decoded, Commit):
            self._begin = None
        elif isinstance(decoded, Relation):
            self._decoder.replace_relation(self._complete(decoded))
        return None

    def _placed(self, events: Iterable[tuple[int, int]]) -> dict[int, tuple[int, int]]:
        """The first places of the events of a change, which are counted."""
        placed = {}
        for oid, count in events:
            placed[oid] = (self._counts.total() + 1, self._counts[oid] + 1)
            self._counts[oid] += count
        return placed

    def _done_of(self, begin: Begin) -> float:
        """How many changes of a transaction are done."""
        if begin.final_lsn < self._position.lsn:
            return float("inf")
        return self._position.n if begin.final_lsn == self._position.lsn else 0

    def _transaction(self) -> Begin:
        if self._begin is None:
            raise DamagedDataError("the server sends a change outside of a transaction: its version is not supported")
        return self._begin
