"""Whether consumer groups are given the offsets that were committed for them (KIP-98, KIP-447)."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Decision, Facts, Transaction
from eosfw.checker.operation import INVOKE, NONE, OK, Operation

_STABLE = "fetch-offset"
_ANY = "fetch-any-offset"
GroupPartition = tuple[str, str]
_Fetch = tuple[Operation, Operation]
"""A call that asks for the offset of a group, and its answer."""


@dataclass(slots=True)
class _Sent:
    """An offset that was sent for a group, or that the group's offset was forgotten."""

    asked: Operation
    done: Operation | None
    """That it was written; None if nobody knows."""
    transaction: Transaction | None
    """The one in which it was sent; without one it counts at once."""

    @property
    def written(self) -> float:
        """The number of the event behind which it was surely written."""
        return math.inf if self.done is None else self.done.i

    @property
    def first(self) -> float:
        """The number of the event behind which it may count."""
        if self.transaction is None:
            return self.asked.i
        commit = None if self.transaction.decision is Decision.ABORTED else self.transaction.commit
        return math.inf if commit is None else commit.i

    @property
    def last(self) -> float:
        """The number of the event behind which it surely counts, if it is the newest."""
        if self.transaction is None:
            return self.written
        done = self.transaction.decision is Decision.COMMITTED and self.done is not None
        return self.transaction.ends[-1].i if done else math.inf

    @property
    def pending_until(self) -> float:
        """The number of the event up to which its transaction was surely open, if it was committed then."""
        transaction = self.transaction
        if transaction is None or transaction.commit is None or transaction.decision is not Decision.COMMITTED:
            return NONE
        return transaction.commit.i

    @property
    def events(self) -> list[Operation]:
        """What a witness shows of it."""
        return [self.done or self.asked, *(self.transaction.ends if self.transaction is not None else ())]


def group_offset_faults(facts: Facts) -> Iterator[Anomaly]:
    """A consumer group is given a stable offset without its commit, or not the one that was committed."""
    return _faults(facts, _STABLE, stable=True)


def any_offset_faults(facts: Facts) -> Iterator[Anomaly]:
    """The same of a group that has not asked for a stable offset."""
    return _faults(facts, _ANY, stable=False)


def _faults(facts: Facts, op: str, *, stable: bool) -> Iterator[Anomaly]:
    sent = _sent(facts)
    for key, fetches in _fetches(facts, op).items():
        for what, witness in _wrong(sent.get(key, ()), fetches, stable=stable):
            yield anomaly("group-offset-fault", f"group {key[0]} was given {what}", witness)


def forgotten_offsets(facts: Facts) -> Iterator[Anomaly]:
    """After a restart the coordinator holds another offset than was committed before."""
    sent, found = _sent(facts), defaultdict[GroupPartition, list[_Fetch]](list)
    for held in facts.of("held"):
        if held.part:
            found[held.val, held.part].append((held, held))
    for key, each in found.items():
        for what, witness in _wrong(sent.get(key, ()), each, stable=True):
            whose = f"for group {key[0]} {what}"
            yield anomaly("forgotten-answer", f"after a restart the coordinator holds {whose}", witness)


def _wrong(
    known: Sequence[_Sent], fetches: Sequence[_Fetch], *, stable: bool
) -> Iterator[tuple[str, Sequence[Operation]]]:
    """The offsets that are not what they have to be, with why, and the events that show it.

    Of two offsets the one that was written later is newer, whichever commit came first.
    Who does not ask for a stable one may be given the old one until the control record is written.
    """
    earlier: dict[int, list[_Sent]] = defaultdict(list)
    asked_for = deque(known)
    sure = deque(sorted((one for one in known if stable or one.transaction is None), key=lambda one: one.last))
    newest: _Sent | None = None
    for asked, fetched in fetches:
        while asked_for and asked_for[0].asked.i < fetched.i:
            earlier[asked_for[0].asked.off].append(asked_for.popleft())
        while sure and sure[0].last < asked.i:
            newest = max(newest or sure[0], sure.popleft(), key=lambda one: one.asked.i)
        what = f"{fetched.off} for {fetched.part}"
        same = earlier[fetched.off]
        possible = (one for one in reversed(same) if one.first < fetched.i)
        if same and not any(one.first < fetched.i for one in reversed(same)):
            yield f"{what}, which was not committed", [*same[-1].events, fetched]
        elif newest is not None and all(one.written < newest.asked.i for one in possible):
            why = "which was forgotten" if newest.asked.off == NONE else f"and {newest.asked.off} was committed"
            yield f"{what}, {why}", [*newest.events, asked, fetched]


def unstable_offsets(facts: Facts) -> Iterator[Anomaly]:
    """A consumer group is given an offset while a transaction with a newer one is open (KIP-447)."""
    sent = _sent(facts)
    for key, fetches in _fetches(facts, _STABLE).items():
        known = sent.get(key, ())
        forgotten = [one.asked.i for one in known if one.asked.off == NONE]
        pending: list[_Sent] = []
        written = deque(sorted((one for one in known if one.pending_until > one.written), key=lambda one: one.written))
        for asked, fetched in fetches:
            while written and written[0].written < asked.i:
                pending.append(written.popleft())
            pending = [one for one in pending if one.pending_until > asked.i]
            for one in pending:
                if fetched.i < one.pending_until and not any(one.asked.i < each < fetched.i for each in forgotten):
                    what = f"group {key[0]} was given {fetched.off} for {key[1]} while {one.asked.off} was pending"
                    yield anomaly("unstable-offset", what, [one.done, asked, fetched, *one.events[1:]])


def _sent(facts: Facts) -> Mapping[GroupPartition, Sequence[_Sent]]:
    found: dict[GroupPartition, list[_Sent]] = defaultdict(list)
    calls: dict[tuple[str, str, str, int, int], _Sent] = {}
    for event in _in_order(facts, "group-offset"):
        call = event.proc, event.val, event.part, event.txn, event.off
        if event.type == OK and call in calls:
            calls.pop(call).done = event
            continue
        transaction = None if event.txn == NONE else facts.transactions.get(event.writer, Transaction())
        one = _Sent(event, event if event.type == OK else None, transaction)
        found[event.val, event.part].append(one)
        if event.type == INVOKE:
            calls[call] = one
    return found


def _fetches(facts: Facts, op: str) -> Mapping[GroupPartition, Sequence[_Fetch]]:
    """Each call that asks for the offset of a group, and its answer, in the order of the calls."""
    found: dict[GroupPartition, list[_Fetch]] = defaultdict(list)
    calls: dict[tuple[str, str, str], Operation] = {}
    for event in _in_order(facts, op):
        key = event.proc, event.val, event.part
        if event.type == INVOKE:
            calls[key] = event
        elif (asked := calls.pop(key, None)) is not None:
            found[event.val, event.part].append((asked, event))
    return {key: sorted(fetches, key=lambda fetch: fetch[0].i) for key, fetches in found.items()}


def _in_order(facts: Facts, op: str) -> Sequence[Operation]:
    return sorted((*facts.of(op, INVOKE), *facts.of(op)), key=lambda each: each.i)


CHECKS = (
    Check(("group-offset-fault",), ("group-offset", _STABLE), group_offset_faults),
    Check(("group-offset-fault",), ("group-offset", _ANY), any_offset_faults),
    Check(("forgotten-answer",), ("group-offset", "held.part"), forgotten_offsets),
    Check(("unstable-offset",), ("group-offset.txn", _STABLE), unstable_offsets),
)
