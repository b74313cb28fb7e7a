"""Compare records found in topics with those a replay expects, both as streams.

A task's records mostly come to lie in its own order, so whole runs of both sides are equal, and comparing them costs
next to nothing. What is out of order waits, by its identity, for its counterpart; what waits for too many goes to
files. So memory is bounded, and the verdict is the one of counting everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Self

from eosfw.count_difference import CountDifference, Mismatch
from eosfw.errors import DamagedDataError
from eosfw.identity import UnidentifiedRecords, identity_text
from eosfw.pipeline.identity_count import EXAMPLES, Spool, count_identities
from eosfw.protocols import Verdict
from eosfw.records import LogBatch

Raw = Any
"""What is compared first: a record's value, or its headers. Equal ones have one identity."""
Identify = Callable[[Raw], bytes]
_RUN = 4096
"""Records compared at once: slices are copied, and a run may be short."""
_OUT_OF_ORDER = 500
"""Records of each side that are taken by identity when neither is the other's next."""
_WAITING = 300_000
"""Identities that may wait for their counterpart in memory: some 100 MB."""


@dataclass(slots=True, eq=False)
class ExpectedRecords:
    """What one task replays, in its own order; `poll` gives more, nothing for now, or None at the end."""

    poll: Callable[[], Sequence[Raw] | None]
    records: Sequence[Raw] = ()
    at: int = 0
    ended: bool = False
    waiting: int = 0
    """Its records that were taken out of order, and not found yet."""

    def ready(self) -> bool:
        """Whether it has a next record, after a look for one."""
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
    """Records of one batch that were not compared yet."""

    batch: LogBatch
    records: list[Raw]
    at: int = 0


class Comparison:
    """One comparison; a context manager that leaves no file behind.

    `limit` is how many identities may wait in memory.
    """

    def __init__(
        self,
        lanes: Sequence[ExpectedRecords],
        identify: Identify,
        strangers: UnidentifiedRecords,
        limit: int = _WAITING,
    ) -> None:
        self._lanes = list(lanes)
        self._identify, self._strangers = identify, strangers
        self._apart = _Apart(limit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._apart.close()

    @property
    def kept(self) -> int:
        """Identities that wait for their counterpart in memory."""
        return self._apart.kept

    @property
    def spilled(self) -> bool:
        """Whether some wait in files."""
        return self._apart.spilled

    def take(self, batch: LogBatch, records: list[Raw], pause: Callable[[], None]) -> None:
        """Compare the next batch that was found; `pause` while a replay has nothing to give for the moment."""
        found = _Found(batch, records)
        while found.at < len(records):
            if not (self._in_order(found) or self._met_before(found) or self._out_of_order(found)):
                pause()

    def drain(self, pause: Callable[[], None]) -> bool:
        """Take some of what is expected beyond all that was found; tell whether there may be more."""
        left = [lane for lane in self._lanes if not lane.ended]
        gave = [self._expect_some(lane) for lane in left]
        if left and not any(gave):
            pause()
        return bool(left)

    def verdict(self) -> Verdict:
        """What was never met, on either side."""
        return self._apart.verdict()

    def _in_order(self, found: _Found) -> bool:
        for place, lane in enumerate(self._lanes):
            if lane.ready() and (run := _equal(found.records, found.at, lane.records, lane.at)):
                found.at += run
                lane.at += run
                if place:  # who was met last is likely to be met next
                    self._lanes.insert(0, self._lanes.pop(place))
                return True
        return False

    def _met_before(self, found: _Found) -> bool:
        """Pass next records whose counterparts wait already, so that both sides stand at the same place again."""
        if not self._apart:
            return False
        before = found.at
        while found.at < len(found.records) and self._apart.settle_found(self._identity(found)):
            found.at += 1
        moved = found.at > before
        for lane in self._lanes:
            while lane.ready() and self._apart.settle_expected(self._identify(lane.records[lane.at])):
                lane.at += 1
                moved = True
        return moved

    def _out_of_order(self, found: _Found) -> bool:
        ready = [lane for lane in self._lanes if lane.at < len(lane.records)]
        if not ready and not all(lane.ended for lane in self._lanes):
            return False
        for _ in range(min(_OUT_OF_ORDER, len(found.records) - found.at)):
            identity = self._identity(found)
            found.at += 1
            if identity is not None:
                self._apart.find(identity)
        if ready:  # the task that is least ahead of what was found
            self._expect_some(min(ready, key=lambda lane: lane.waiting))
        return True

    def _expect_some(self, lane: ExpectedRecords) -> bool:
        if not lane.ready():
            return False
        taken = lane.records[lane.at : lane.at + _OUT_OF_ORDER]
        lane.at += len(taken)
        for record in taken:
            self._apart.expect(self._identify(record), lane)
        return True

    def _identity(self, found: _Found) -> bytes | None:
        try:
            return self._identify(found.records[found.at])
        except DamagedDataError:
            batch = found.batch
            self._strangers.add(f"{batch.topic}-{batch.partition}@{batch.offsets[found.at]}")
            return None


def _equal(found: Sequence[Raw], at: int, expected: Sequence[Raw], place: int) -> int:
    """How many next records of both sides are equal."""
    if found[at] != expected[place]:
        return 0
    size = min(_RUN, len(found) - at, len(expected) - place)
    ours, theirs = found[at : at + size], expected[place : place + size]
    if ours == theirs:
        return size
    return next(number for number, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other)


def _example(mismatch: Mismatch) -> str:
    text = identity_text(mismatch.identity)
    return f"{mismatch.seen} too many: {text}" if mismatch.seen else f"missing: {text}"


@dataclass(slots=True)
class _Apart:
    """Identities that wait for their counterpart, each side's; in files once there are more than `limit`."""

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

    def settle_found(self, identity: bytes | None) -> bool:
        """Let a record that was found meet the one that is expected; tell whether there is one."""
        lanes = self._expected.get(identity) if identity is not None else None
        if identity is None or lanes is None:
            return False
        lanes.pop().waiting -= 1
        if not lanes:
            del self._expected[identity]
        return True

    def settle_expected(self, identity: bytes) -> bool:
        """The same the other way round."""
        number = self._found.get(identity)
        if number is None:
            return False
        if number > 1:
            self._found[identity] = number - 1
        else:
            del self._found[identity]
        return True

    def find(self, identity: bytes) -> None:
        """Take a record that was found."""
        if not self.settle_found(identity):
            self._found[identity] = self._found.get(identity, 0) + 1
            self._keep_limit()

    def expect(self, identity: bytes, lane: ExpectedRecords) -> None:
        """Take a record that is expected."""
        if not self.settle_expected(identity):
            self._expected.setdefault(identity, []).append(lane)
            lane.waiting += 1
            self._keep_limit()

    def verdict(self) -> Verdict:
        """What was never met, on either side."""
        if self._spools is not None:
            found, expected = self._spill()
            return count_identities(lambda: found, expected)
        difference = CountDifference(EXAMPLES)
        for identity, number in self._found.items():
            difference.add(identity, number, 0)
        for identity, lanes in self._expected.items():
            difference.add(identity, 0, len(lanes))
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
        expected.add([identity for identity, lanes in self._expected.items() for _ in lanes])
        for lanes in self._expected.values():
            for lane in lanes:
                lane.waiting -= 1
        self._found.clear()
        self._expected.clear()
        return found, expected
