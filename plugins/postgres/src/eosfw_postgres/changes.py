"""The changes behind a position, read from a replication stream."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eosfw.errors import DamagedDataError
from eosfw_postgres.pgoutput import Begin, Change, Commit, PgoutputDecoder, Relation, Truncate
from eosfw_postgres.position import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from eosfw_postgres.stream import ReplicationStream

__all__ = ["ChangeReader", "StreamedChange"]


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

    def read(self, most: int, timeout: float) -> list[StreamedChange]:
        """As many changes as are at hand; waits up to `timeout` seconds for the first one."""
        found: list[StreamedChange] = []
        while len(found) < most:
            message = self._stream.read(0 if found else timeout)
            if message is None:
                break
            change = self._take(message)
            if change is not None:
                found.append(change)
        return found

    def read_transaction(self, most: int, longest: int, timeout: float) -> list[StreamedChange]:
        """As `read`, but changes of one transaction alone; its last one says that it is, and so does each `longest`th.

        The last change at hand is kept back until it is known whether it ends its transaction.
        """
        found: list[StreamedChange] = []
        while len(found) < most:
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
