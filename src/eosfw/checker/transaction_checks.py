"""Whether transactions are seen whole, once, and as acknowledged (Adya's G1, Jepsen's workload for Kafka)."""

from __future__ import annotations

import graphlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Decision, Facts, Writer
from eosfw.checker.operation import NONE, Operation


def duplicates(facts: Facts) -> Iterator[Anomaly]:
    """A value is visible at more than one offset."""
    for value, entries in facts.stored.items():
        seen = [entry for entry in entries if entry.visible] if len(entries) > 1 else []
        if len(seen) > 1:
            places = ", ".join(f"{entry.part}@{entry.off}" for entry in seen[:3])
            yield anomaly("duplicate", f"{value!r} is visible at {places}", [facts.send_of(value), *seen])


def aborted_reads(facts: Facts) -> Iterator[Anomaly]:
    """A reader is given a value of a transaction that was aborted (G1a)."""
    for poll in facts.of("poll"):
        for part, off, value in poll.reads:
            writer = facts.writer_of.get(value)
            if writer is not None and facts.transactions[writer].decision is Decision.ABORTED:
                what = f"{poll.proc} was given {value!r} at {part}@{off}, whose transaction was aborted"
                yield anomaly("aborted-read", what, [*facts.story_of(value), poll])


def divided_transactions(facts: Facts) -> Iterator[Anomaly]:
    """A transaction is seen in part (G1b; torn), or against what its producer was answered."""
    for transaction in facts.transactions.values():
        stored = [entry for send in transaction.sends for entry in facts.stored_at(send)]
        seen: dict[str, set[bool]] = defaultdict(set)
        for entry in stored:
            seen[entry.part].add(entry.visible)
        if (found := _division(transaction.decision, seen)) is not None:
            examples = {(entry.part, entry.visible): entry for entry in reversed(stored)}
            witness = [*transaction.sends[:2], *transaction.ends, *examples.values()]
            yield anomaly(*found, witness)


def _division(decision: Decision, seen: dict[str, set[bool]]) -> tuple[str, str] | None:
    """Name and sentence for a transaction of which each partition shows something, hides something, or both."""
    shown, hidden = ([part for part, states in seen.items() if state in states] for state in (True, False))
    if partly := [part for part in shown if part in hidden]:
        return "partial-transaction", f"in {partly[0]} a part of a transaction is visible, and a part is not"
    if shown and hidden:
        return "torn-transaction", f"of one transaction, {shown[0]} shows its part and {hidden[0]} does not"
    if hidden and decision is Decision.COMMITTED:
        return "wrong-verdict", "a transaction whose commit was acknowledged is not visible (a lost commit)"
    if shown and decision is Decision.ABORTED:
        return "wrong-verdict", "a transaction that was not committed is visible"
    return None


def late_records(facts: Facts) -> Iterator[Anomaly]:
    """A record shares the fate of another transaction of its producer: it came too late (KIP-890)."""
    for entries in facts.log.values():
        open_: dict[int, Writer] = {}
        ended: dict[Writer, Operation] = {}
        for entry in entries:
            writer = facts.writer_of.get(entry.val)
            if entry.op == "marker":
                if entry.pid in open_:
                    ended[open_.pop(entry.pid)] = entry
            elif writer is not None and (open_.setdefault(entry.pid, writer) != writer or writer in ended):
                what = f"{entry.val!r} at {entry.part}@{entry.off} is in another transaction than it was sent in"
                yield anomaly("transaction-bleed", what, [*facts.story_of(entry.val), ended.get(writer), entry])


def precommitted_reads(facts: Facts) -> Iterator[Anomaly]:
    """A transaction is given a value that it has sent itself, before it was committed."""
    for poll in facts.of("poll"):
        for part, off, value in poll.reads if poll.txn != NONE else ():
            if facts.writer_of.get(value) == poll.writer:
                what = f"a transaction of {poll.proc} was given its own {value!r} at {part}@{off} before its commit"
                yield anomaly("precommitted-read", what, [facts.send_of(value), poll])


def circular_reads(facts: Facts) -> Iterator[Anomaly]:
    """Transactions have read each other's values in a circle (G1c, of reads alone: write cycles are legal in Kafka)."""
    read_from: dict[Writer, set[Writer]] = defaultdict(set)
    by: dict[tuple[Writer, Writer], tuple[Operation | None, Operation]] = {}
    for poll in facts.of("poll"):
        for _, _, value in poll.reads if poll.txn != NONE else ():
            writer = facts.writer_of.get(value)
            if writer is not None and writer != poll.writer:
                read_from[poll.writer].add(writer)
                by.setdefault((poll.writer, writer), (facts.send_of(value), poll))
    try:
        graphlib.TopologicalSorter(read_from).prepare()
    except graphlib.CycleError as found:
        circle: Sequence[Writer] = found.args[1]
        witness = [event for written, reader in pairwise(circle) for event in by[reader, written]]
        names = " -> ".join(f"{tid}#{txn}" for tid, _, txn in circle)
        yield anomaly("circular-read", f"transactions have read each other's values: {names}", witness)


def unseen_writes(facts: Facts) -> Iterator[Anomaly]:
    """A committed value is visible in the log, and no reader was given it although all faults were over."""
    given = {value for poll in facts.of("poll") for _, _, value in poll.reads}
    for transaction in facts.decided(Decision.COMMITTED):
        for send in transaction.sends:
            entry = next((each for each in facts.stored_at(send) if each.visible), None)
            if entry is not None and send.val not in given:
                what = f"{send.val!r} is at {entry.part}@{entry.off}, and no reader was given it to the end"
                yield anomaly("unseen", what, [send, *transaction.ends, *facts.of("healed")[:1], entry])


CHECKS = (
    Check(("duplicate",), ("log",), duplicates),
    Check(("aborted-read",), ("send", "poll"), aborted_reads),
    Check(("partial-transaction", "torn-transaction", "wrong-verdict"), ("send", "log"), divided_transactions),
    Check(("transaction-bleed",), ("send", "marker"), late_records),
    Check(("precommitted-read",), ("send", "poll.txn"), precommitted_reads),
    Check(("unseen",), ("commit", "poll", "healed", "end"), unseen_writes),
    Check(("circular-read",), ("send", "poll.txn"), circular_reads),
)
