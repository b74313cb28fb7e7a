"""Whether the coordinator keeps transactions as it must (KIP-98, KIP-890)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Facts
from eosfw.checker.operation import NONE, Operation

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


_OTHERWISE: Final = {
    "commit": frozenset({"PrepareAbort", "CompleteAbort"}),
    "abort": frozenset({"PrepareCommit", "CompleteCommit"}),
}
"""The states that contradict an answer in its own epoch."""


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


def forgotten_answers(facts: Facts) -> Iterator[Anomaly]:
    """After a restart a coordinator holds something older than it has answered before.

    A new producer id is a higher one. Where the end of a transaction leaves the epoch as it is (before KIP-890), the
    next one may have been decided since.
    """
    last: dict[str, Operation] = {}
    for event in sorted((*facts.of("answered"), *facts.of("held")), key=lambda each: each.i):
        if event.op == "answered":
            last[event.tid] = event
            continue
        answered = last.get(event.tid)
        if answered is not None and _is_older(event, answered):
            state = "nothing" if event.pid == NONE else f"{event.val} in epoch {event.epoch} of producer {event.pid}"
            had = f"answered its {answered.val} with epoch {answered.epoch} of producer {answered.pid}"
            what = f"after a restart the coordinator holds {state} for {event.tid}, and had {had}"
            yield anomaly("forgotten-answer", what, [answered, event])


def _is_older(held: Operation, answered: Operation) -> bool:
    there, given = (held.pid, held.epoch), (answered.pid, answered.epoch)
    return there < given or (there == given and held.val in _OTHERWISE.get(answered.val, ()))


CHECKS = (
    Check(("illegal-state",), ("txn-state",), illegal_states),
    Check(("unverified-append",), ("txn-state.ids", "log.epoch"), unverified_appends),
    Check(("forgotten-answer",), ("answered", "held.tid"), forgotten_answers),
)
