"""Whether coordinators keep transactions and the offsets of consumer groups as they must (KIP-98, KIP-447, KIP-890)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Decision, Facts, Transaction
from eosfw.checker.operation import INVOKE, NONE, Operation

_EMPTY, _ONGOING, _DEAD = "Empty", "Ongoing", "Dead"
_COMPLETE: Final = frozenset({"CompleteCommit", "CompleteAbort"})
_AT_REST: Final = frozenset({_EMPTY, *_COMPLETE})
PREDECESSORS: Final[Mapping[str, frozenset[str]]] = {
    _EMPTY: _AT_REST,
    _ONGOING: frozenset({_ONGOING, *_AT_REST}),
    "PrepareCommit": frozenset({_ONGOING}),
    # KIP-890: a producer may abort before its first record has arrived.
    "PrepareAbort": frozenset({_ONGOING, *_AT_REST}),
    "CompleteCommit": frozenset({"PrepareCommit"}),
    "CompleteAbort": frozenset({"PrepareAbort"}),
    _DEAD: _AT_REST,
}
"""Behind which states the log of transactions may have a state; Kafka's `TransactionState.validPreviousStates`."""


def illegal_states(facts: Facts) -> Iterator[Anomaly]:
    """The log of transactions has a state behind one that it must not follow."""
    last: dict[str, Operation] = {}
    for state in facts.of("txn-state"):
        before = last.get(state.tid)
        last[state.tid] = state
        if before is None or before.val in (_DEAD, state.val):  # an append may be repeated
            continue
        if before.val not in PREDECESSORS.get(state.val, ()):
            what = f"the transaction of {state.tid} went from {before.val} to {state.val}"
            yield anomaly("illegal-state", what, [before, state])


def unverified_appends(facts: Facts) -> Iterator[Anomaly]:
    """A partition has records of a transaction to which it was never added."""
    added: dict[tuple[int, int], set[str]] = defaultdict(set)
    states: dict[tuple[int, int], Operation] = {}
    for state in facts.of("txn-state"):
        if state.val == _ONGOING:
            added[state.pid, state.epoch].update(state.ids)
            states[state.pid, state.epoch] = state
    known = {pid for pid, _ in added}
    for part, entries in facts.log.items():
        named: set[tuple[int, int]] = set()
        for entry in entries:
            producer = entry.pid, entry.epoch
            if entry.op == "marker" or entry.pid not in known or producer in named:
                continue
            if part not in added.get(producer, ()):
                named.add(producer)
                what = f"{part}@{entry.off} is of a transaction of producer {entry.pid} that {part} was not added to"
                yield anomaly("unverified-append", what, [states.get(producer), facts.send_of(entry.val), entry])


GroupPartition = tuple[str, str]
Offered = dict[GroupPartition, list[tuple[Operation, Transaction]]]


def group_offset_faults(facts: Facts) -> Iterator[Anomaly]:
    """A consumer group is given an offset of a transaction without its commit, or not the one that was committed."""
    offered = _offered(facts)
    for asked, fetched in _fetches(facts):
        whose = f"group {fetched.val} was given {fetched.off} for {fetched.part}"
        ours = offered[fetched.val, fetched.part]
        same = [(offset, txn) for offset, txn in ours if offset.off == fetched.off]
        if same and not any(_may_be_committed(txn, fetched) for _, txn in same):
            offset, txn = same[-1]
            yield anomaly("group-offset-fault", f"{whose}, which was not committed", [offset, *txn.ends, fetched])
            continue
        done = [(offset, txn) for offset, txn in ours if _was_committed(txn, asked)]
        if not done:
            continue
        newest, txn = max(done, key=lambda each: each[1].ends[-1].i)
        begun = txn.ends[0].i
        if fetched.off != newest.off and all(_was_committed_before(one, begun) for _, one in same):
            what = f"{whose}, and {newest.off} was committed"
            yield anomaly("group-offset-fault", what, [newest, *txn.ends, asked, fetched])


def unstable_offsets(facts: Facts) -> Iterator[Anomaly]:
    """A consumer group is given an offset while a transaction with a newer one is open (KIP-447)."""
    offered = _offered(facts)
    for asked, fetched in _fetches(facts):
        for offset, txn in offered[fetched.val, fetched.part]:
            open_ = offset.i < asked.i and txn.commit is not None and txn.commit.i > fetched.i
            if open_ and txn.decision is Decision.COMMITTED:
                what = f"group {fetched.val} was given {fetched.off} for {fetched.part} while {offset.off} was pending"
                yield anomaly("unstable-offset", what, [offset, asked, fetched, *txn.ends])


def _offered(facts: Facts) -> Offered:
    found: Offered = defaultdict(list)
    for offset in facts.of("group-offset"):
        found[offset.val, offset.part].append((offset, facts.transactions.get(offset.writer, Transaction())))
    return found


def _fetches(facts: Facts) -> Iterator[tuple[Operation, Operation]]:
    """Each call that asks for the stable offset of a group, and its answer."""
    calls: dict[tuple[str, GroupPartition], Operation] = {}
    for event in sorted((*facts.of("fetch-offset", INVOKE), *facts.of("fetch-offset")), key=lambda each: each.i):
        key = event.proc, (event.val, event.part)
        if event.type == INVOKE:
            calls[key] = event
        elif (asked := calls.pop(key, None)) is not None:
            yield asked, event


def _may_be_committed(txn: Transaction, fetched: Operation) -> bool:
    return txn.decision is not Decision.ABORTED and txn.commit is not None and txn.commit.i < fetched.i


def _was_committed(txn: Transaction, asked: Operation) -> bool:
    return _was_committed_before(txn, asked.i)


def _was_committed_before(txn: Transaction, number: int) -> bool:
    return txn.decision is Decision.COMMITTED and NONE < txn.ends[-1].i < number


CHECKS = (
    Check(("illegal-state",), ("txn-state",), illegal_states),
    Check(("unverified-append",), ("txn-state.ids", "log.epoch"), unverified_appends),
    Check(("group-offset-fault",), ("group-offset", "fetch-offset"), group_offset_faults),
    Check(("unstable-offset",), ("group-offset", "fetch-offset"), unstable_offsets),
)
