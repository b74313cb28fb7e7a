"""What the checks ask of a history: its transactions, its log, its reads, gathered in one pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from eosfw.checker.operation import FAIL, INVOKE, NONE, OK, Operation

_NOTHING = (NONE, "", ())
Writer = tuple[str, str, int]
"""What tells one transaction from all others: transactional id, process, number."""


class Decision(Enum):
    """What a producer knows of its transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    """Aborted, refused, or given up before its commit was asked for: it must never be seen."""
    UNKNOWN = "unknown"
    """The answer to the commit was lost: all of it is seen, or nothing."""


@dataclass(slots=True)
class Transaction:
    """A transaction as its producer saw it."""

    sends: list[Operation] = field(default_factory=list)
    offsets: list[Operation] = field(default_factory=list)
    commit: Operation | None = None
    """The call of the commit, if there was one."""
    end: Operation | None = None
    """How the commit or the abort ended, if the producer heard of it."""

    @property
    def decision(self) -> Decision:
        if self.commit is None:
            return Decision.ABORTED
        if self.end is None or self.end.type not in (OK, FAIL):
            return Decision.UNKNOWN
        return Decision.COMMITTED if self.end.op == "commit" and self.end.type == OK else Decision.ABORTED

    @property
    def ends(self) -> list[Operation]:
        """The call of the commit and its end, as far as there are any: the close of a witness."""
        return [operation for operation in (self.commit, self.end) if operation is not None]


@dataclass(slots=True)
class Segment:
    """What one producer id has in a partition up to its next control record; without one it is open at the end."""

    records: list[Operation] = field(default_factory=list)
    marker: Operation | None = None

    @property
    def committed(self) -> bool:
        """Whether a `read_committed` reader has to show it."""
        return self.marker is not None and self.marker.control == "commit"


class Facts:
    """A history, sorted by what the checks look up."""

    def __init__(self, history: Iterable[Operation]) -> None:
        self.transactions: dict[Writer, Transaction] = defaultdict(Transaction)
        self.writer_of: dict[str, Writer] = {}
        """The transaction that sent a value."""
        self.log: dict[str, list[Operation]] = defaultdict(list)
        """What each partition holds, by offset."""
        self.stored: dict[str, list[Operation]] = defaultdict(list)
        """Where the log holds a value."""
        self._others: dict[tuple[str, str], list[Operation]] = defaultdict(list)
        for operation in history:
            self._add(operation)
        for entries in self.log.values():
            entries.sort(key=lambda entry: entry.off)
        self.dumped = frozenset(partition.part for partition in self.of("partition"))
        """The partitions whose log was read to its end."""

    def of(self, op: str, kind: str = OK) -> Sequence[Operation]:
        """The operations of a name and type, in their order."""
        return self._others.get((op, kind), [])

    def has(self, need: str) -> bool:
        """Whether the history has an operation `NAME`, or one whose field says something: `NAME.FIELD`."""
        op, _, name = need.partition(".")
        known = (operation for kind in (OK, INVOKE) for operation in self.of(op, kind))
        return any(not name or getattr(operation, name) not in _NOTHING for operation in known)

    @cached_property
    def segments(self) -> dict[str, list[Segment]]:
        """The transactions of each partition by its control records, and behind them those that are open."""
        return {part: list(_segments(entries)) for part, entries in self.log.items()}

    def stored_at(self, send: Operation) -> Sequence[Operation]:
        """Where the log holds what was sent."""
        return self.stored.get(send.val, [])

    def send_of(self, value: str) -> Operation | None:
        """The call that sent a value."""
        writer = self.writer_of.get(value)
        sends = self.transactions[writer].sends if writer is not None else ()
        return next((send for send in sends if send.val == value), None)

    def story_of(self, value: str) -> list[Operation]:
        """The call that sent a value, and how its transaction ended."""
        send = self.send_of(value)
        return [] if send is None else [send, *self.transactions[send.writer].ends]

    def outcome(self, transaction: Transaction) -> Decision:
        """What its producer knows, or what the log shows of it where the answer to the commit was lost."""
        if transaction.decision is not Decision.UNKNOWN:
            return transaction.decision
        shown = [entry.visible for send in transaction.sends for entry in self.stored_at(send)]
        if not shown:
            return Decision.UNKNOWN
        return Decision.COMMITTED if any(shown) else Decision.ABORTED

    def decided(self, decision: Decision) -> Iterator[Transaction]:
        """The transactions with this decision."""
        return (each for each in self.transactions.values() if each.decision is decision)

    def commits(self) -> list[tuple[Operation, Operation, Transaction]]:
        """Call, acknowledgement and transaction of each commit, in the order of the acknowledgements."""
        committed = [
            (each.commit, each.end, each)
            for each in self.decided(Decision.COMMITTED)
            if each.commit is not None and each.end is not None
        ]
        return sorted(committed, key=lambda each: each[1].i)

    def _add(self, operation: Operation) -> None:
        if operation.op in ("log", "marker"):
            self.log[operation.part].append(operation)
            if operation.op == "log":
                self.stored[operation.val].append(operation)
        self._others[operation.op, operation.type].append(operation)
        if operation.op == "send" and operation.type == INVOKE:
            self.transactions[operation.writer].sends.append(operation)
            self.writer_of[operation.val] = operation.writer
        elif operation.op == "offset":
            self.transactions[operation.writer].offsets.append(operation)
        elif operation.op in ("commit", "abort"):
            transaction = self.transactions[operation.writer]
            if operation.type != INVOKE:
                transaction.end = operation
            elif operation.op == "commit":
                transaction.commit = operation


def _segments(entries: Iterable[Operation]) -> Iterator[Segment]:
    open_: dict[int, Segment] = {}
    for entry in entries:
        if entry.op == "marker":
            ended = open_.pop(entry.pid, None) or Segment()
            ended.marker = entry
            yield ended
        elif entry.pid != NONE:  # a record of no transaction belongs to none
            segment = open_.get(entry.pid)
            if segment is None:
                segment = open_[entry.pid] = Segment()
            segment.records.append(entry)
    yield from open_.values()
