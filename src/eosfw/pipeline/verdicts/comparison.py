"""The comparison of records found in topics with those that a replay expects, both as streams.

Most records of a task lie in topics in its own order, so long slices of both sides are equal and are compared at once.
A record out of order waits, by its identity, for its counterpart; when too many wait, they are kept in files. So memory
is bounded, and the verdict is the same as if everything were counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Self

from eosfw.count_difference import CountDifference, Mismatch
from eosfw.errors import DamagedDataError
from eosfw.identity import UnidentifiedRecords, identity_text
from eosfw.pipeline.verdicts.identity_count import EXAMPLES, Spool, count_identities
from eosfw.protocols import Verdict
from eosfw.records import LogBatch

Raw = Any
"""What is compared before identities are: a record's value, or its headers. Equal ones have the same identity."""
Identify = Callable[[Raw], bytes]
_SLICE = 4096
"""Records compared at once: slices are copied, and an equal part may be short."""
_OUT_OF_ORDER = 500
"""Records of each side that are compared by identity when the next ones of both sides differ."""
_MAX_WAITING = 300_000
"""Identities that may wait for their counterpart in memory: some 100 MB."""


@dataclass(slots=True, eq=False)
class ExpectedRecords:
    """The records of one task's replay, in its order; `poll` returns more, none yet, or None at the end."""

    poll: Callable[[], Sequence[Raw] | None]
    records: Sequence[Raw] = ()
    at: int = 0
    ended: bool = False
    waiting: int = 0
    """How many were compared by identity, and not found yet."""

    def ready(self) -> bool:
        """Poll if necessary; whether there is a next record."""
        while self.at >= len(self.records) and not self.ended:
            polled = self.poll()
            if polled is None:
                self.ended = True
            elif not polled:
                return False
            self.records, self.at = polled or (), 0
        return self.at < len(self.records)


@dataclass(slots=True)
class _Found:
    """A batch found in a topic, and how many of its records were compared."""

    batch: LogBatch
    records: list[Raw]
    at: int = 0


class Comparison:
    """A comparison under way; a context manager that deletes its files. At most `limit` identities wait in memory."""

    def __init__(
        self,
        expected: Sequence[ExpectedRecords],
        identify: Identify,
        unidentified: UnidentifiedRecords,
        limit: int = _MAX_WAITING,
    ) -> None:
        self._expected_records = list(expected)
        self._identify, self._unidentified = identify, unidentified
        self._unmatched = _Unmatched(limit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._unmatched.close()

    @property
    def kept(self) -> int:
        """Identities that wait for their counterpart in memory."""
        return self._unmatched.kept

    @property
    def spilled(self) -> bool:
        """Whether some wait in files."""
        return self._unmatched.spilled

    def take(self, batch: LogBatch, records: list[Raw], pause: Callable[[], None]) -> None:
        """Compare the next batch that was found; `pause` is called while the replays have no record yet."""
        found = _Found(batch, records)
        while found.at < len(records):
            if not (self._in_order(found) or self._match_waiting(found) or self._out_of_order(found)):
                pause()

    def drain(self, pause: Callable[[], None]) -> bool:
        """Take some expected records after everything found was compared; whether there may be more."""
        left = [task for task in self._expected_records if not task.ended]
        results = [self._expect_some(task) for task in left]
        if left and not any(results):
            pause()
        return bool(left)

    def verdict(self) -> Verdict:
        """The records without a counterpart, on either side."""
        return self._unmatched.verdict()

    def _in_order(self, found: _Found) -> bool:
        for place, task in enumerate(self._expected_records):
            if task.ready() and (equal := _equal(found.records, found.at, task.records, task.at)):
                found.at += equal
                task.at += equal
                if place:  # the next record is likely to be of the same task
                    self._expected_records.insert(0, self._expected_records.pop(place))
                return True
        return False

    def _match_waiting(self, found: _Found) -> bool:
        """Skip next records whose counterparts wait already, so that both sides are in step again."""
        if not self._unmatched:
            return False
        before = found.at
        while found.at < len(found.records) and self._unmatched.match_found(self._identity(found)):
            found.at += 1
        moved = found.at > before
        for task in self._expected_records:
            while task.ready() and self._unmatched.match_expected(self._identify(task.records[task.at])):
                task.at += 1
                moved = True
        return moved

    def _out_of_order(self, found: _Found) -> bool:
        ready = [task for task in self._expected_records if task.at < len(task.records)]
        if not ready and not all(task.ended for task in self._expected_records):
            return False
        for _ in range(min(_OUT_OF_ORDER, len(found.records) - found.at)):
            identity = self._identity(found)
            found.at += 1
            if identity is not None:
                self._unmatched.find(identity)
        if ready:  # of the task that is least ahead of what was found
            self._expect_some(min(ready, key=lambda task: task.waiting))
        return True

    def _expect_some(self, task: ExpectedRecords) -> bool:
        if not task.ready():
            return False
        taken = task.records[task.at : task.at + _OUT_OF_ORDER]
        task.at += len(taken)
        for record in taken:
            self._unmatched.expect(self._identify(record), task)
        return True

    def _identity(self, found: _Found) -> bytes | None:
        try:
            return self._identify(found.records[found.at])
        except DamagedDataError:
            batch = found.batch
            self._unidentified.add(f"{batch.topic}-{batch.partition}@{batch.offsets[found.at]}")
            return None


def _equal(found: Sequence[Raw], at: int, expected: Sequence[Raw], place: int) -> int:
    """How many records of both sides are equal from here on."""
    if found[at] != expected[place]:
        return 0
    size = min(_SLICE, len(found) - at, len(expected) - place)
    left, right = found[at : at + size], expected[place : place + size]
    if left == right:
        return size
    return next(number for number, (one, other) in enumerate(zip(left, right, strict=True)) if one != other)


def _example(mismatch: Mismatch) -> str:
    text = identity_text(mismatch.identity)
    return f"{mismatch.seen} too many: {text}" if mismatch.seen else f"missing: {text}"


@dataclass(slots=True)
class _Unmatched:
    """Identities of both sides that wait for their counterpart; in files once there are more than `limit`."""

    limit: int
    _found: dict[bytes, int] = field(default_factory=dict)
    _expected: dict[bytes, list[ExpectedRecords]] = field(default_factory=dict)
    _files: ExitStack = field(default_factory=ExitStack)
    _spools: tuple[Spool, Spool] | None = None

    def __bool__(self) -> bool:
        return bool(self._found or self._expected)

    @property
    def kept(self) -> int:
        return len(self._found) + len(self._expected)

    @property
    def spilled(self) -> bool:
        return self._spools is not None

    def match_found(self, identity: bytes | None) -> bool:
        """Remove one expected record with this identity; whether there was one."""
        tasks = self._expected.get(identity) if identity is not None else None
        if identity is None or tasks is None:
            return False
        tasks.pop().waiting -= 1
        if not tasks:
            del self._expected[identity]
        return True

    def match_expected(self, identity: bytes) -> bool:
        """Remove one found record with this identity; whether there was one."""
        number = self._found.get(identity)
        if number is None:
            return False
        if number > 1:
            self._found[identity] = number - 1
        else:
            del self._found[identity]
        return True

    def find(self, identity: bytes) -> None:
        """Add a record that was found, unless it is expected."""
        if not self.match_found(identity):
            self._found[identity] = self._found.get(identity, 0) + 1
            self._keep_limit()

    def expect(self, identity: bytes, task: ExpectedRecords) -> None:
        """Add a record that is expected, unless it was found."""
        if not self.match_expected(identity):
            self._expected.setdefault(identity, []).append(task)
            task.waiting += 1
            self._keep_limit()

    def verdict(self) -> Verdict:
        """The records without a counterpart, on either side."""
        if self._spools is not None:
            found, expected = self._spill()
            return count_identities(lambda: found, expected)
        difference = CountDifference(EXAMPLES)
        for identity, number in self._found.items():
            difference.add(identity, number, 0)
        for identity, tasks in self._expected.items():
            difference.add(identity, 0, len(tasks))
        return Verdict(difference.excess, difference.missing, [_example(one) for one in difference.examples])

    def close(self) -> None:
        """Delete the files."""
        self._files.close()

    def _keep_limit(self) -> None:
        if self.kept > self.limit:
            self._spill()

    def _spill(self) -> tuple[Spool, Spool]:
        if self._spools is None:
            self._spools = (self._files.enter_context(Spool()), self._files.enter_context(Spool()))
        found, expected = self._spools
        found.add([identity for identity, number in self._found.items() for _ in range(number)])
        expected.add([identity for identity, tasks in self._expected.items() for _ in tasks])
        for tasks in self._expected.values():
            for task in tasks:
                task.waiting -= 1
        self._found.clear()
        self._expected.clear()
        return found, expected
