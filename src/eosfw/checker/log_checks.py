"""Whether readers and the log keep the order of offsets, sequence numbers and epochs (KIP-98, KIP-890)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Facts
from eosfw.checker.operation import NONE, Operation

_SEQUENCES: Final = 2**31
"""Sequence numbers go from 0 to one less than this, then from 0 again."""


def inconsistent_offsets(facts: Facts) -> Iterator[Anomaly]:
    """Two values are claimed for one offset: by an acknowledgement, a reader, or the log."""
    claims: dict[tuple[str, int], tuple[str, Operation]] = {}
    for part, off, value, event in _claims(facts):
        known, first = claims.setdefault((part, off), (value, event))
        if known != value:
            yield anomaly("inconsistent-offset", f"{part}@{off} is said to be {known!r} and {value!r}", [first, event])


def _claims(facts: Facts) -> Iterator[tuple[str, int, str, Operation]]:
    for part, entries in facts.log.items():
        yield from ((part, entry.off, entry.val, entry) for entry in entries if entry.op == "log")
    yield from ((send.part, send.off, send.val, send) for send in facts.of("send") if send.off != NONE)
    for poll in facts.of("poll"):
        yield from ((*read, poll) for read in poll.reads)


def unordered_reads(facts: Facts) -> Iterator[Anomaly]:
    """A reader goes back, or leaves out a visible value, within one poll or from one to the next."""
    visible = {part: [entry for entry in entries if entry.visible] for part, entries in facts.log.items()}
    offsets = {part: [entry.off for entry in entries] for part, entries in visible.items()}
    last: dict[tuple[str, str], tuple[int, Operation]] = {}
    for poll in facts.of("poll"):
        for part, off, value in poll.reads:
            before, earlier = last.get((poll.proc, part), (NONE, poll))
            first = (poll.proc, part) not in last
            last[poll.proc, part] = off, poll
            where = "internal" if earlier is poll else "external"
            if off <= before:
                what = f"{poll.proc} was given {value!r} at {part}@{off} after offset {before}"
                yield anomaly(f"{where}-nonmonotonic-poll", what, [earlier, poll])
            elif not first and part in offsets:
                known = offsets[part]
                for skipped in visible[part][bisect_left(known, before + 1) : bisect_left(known, off)][:1]:
                    what = f"{poll.proc} went from {part}@{before} to {part}@{off}, and left out {skipped.val!r}"
                    yield anomaly(f"{where}-poll-skip", what, [earlier, poll, skipped])


def unordered_sends(facts: Facts) -> Iterator[Anomaly]:
    """Two records of one transaction stand in a partition in another order than they were sent in."""
    for transaction in facts.transactions.values():
        last: dict[str, tuple[Operation, Operation]] = {}
        for send in transaction.sends:
            for entry in facts.stored_at(send)[:1]:
                before = last.get(entry.part)
                if before is not None and entry.off < before[1].off:
                    what = f"{send.val!r} was sent to {entry.part} after {before[0].val!r}, and stands before it"
                    yield anomaly("nonmonotonic-send", what, [*before, send, entry])
                last[entry.part] = send, entry


def hanging_transactions(facts: Facts) -> Iterator[Anomaly]:
    """The last stable offset is behind the high watermark at the end: a transaction is open that nobody will end."""
    for partition in facts.of("partition"):
        if NONE < partition.off < partition.seq:
            entries = (entry for entry in facts.log.get(partition.part, []) if entry.off >= partition.off)
            what = f"readers of {partition.part} get as far as {partition.off}, and its records go to {partition.seq}"
            yield anomaly("hanging-transaction", what, [next(entries, None), partition])


def zombie_appends(facts: Facts) -> Iterator[Anomaly]:
    """A record has an epoch that is less than one before it of the same producer id."""
    for part, entries in facts.log.items():
        newest: dict[int, Operation] = {}
        for entry in entries:
            before = newest.setdefault(entry.pid, entry)
            if entry.pid != NONE and entry.epoch < before.epoch:
                what = f"{part}@{entry.off} has epoch {entry.epoch} of producer {entry.pid}, after epoch {before.epoch}"
                yield anomaly("zombie-append", what, [facts.send_of(entry.val), before, entry])
            else:
                newest[entry.pid] = entry


def sequence_faults(facts: Facts) -> Iterator[Anomaly]:
    """The sequence numbers of a producer id and epoch do not start at 0, or have a gap or a repetition."""
    for part, entries in facts.log.items():
        last: dict[tuple[int, int], Operation] = {}
        for entry in entries:
            if entry.op == "marker" or NONE in (entry.pid, entry.seq):
                continue
            before = last.get((entry.pid, entry.epoch))
            wanted = 0 if before is None else (before.seq + 1) % _SEQUENCES
            if entry.seq != wanted:
                what = f"{part}@{entry.off} has sequence {entry.seq} of producer {entry.pid}, where {wanted} was due"
                yield anomaly("sequence-fault", what, [before, entry])
            last[entry.pid, entry.epoch] = entry


def epoch_faults(facts: Facts) -> Iterator[Anomaly]:
    """An epoch is handed out that is not above all earlier ones of its producer id."""
    newest: dict[int, Operation] = {}
    for init in facts.of("init"):
        if init.pid == NONE:  # nobody saw what it was given
            continue
        before = newest.get(init.pid)
        if init.epoch <= (NONE if before is None else before.epoch):
            after = "" if before is None else f" after epoch {before.epoch}"
            yield anomaly("epoch-fault", f"producer {init.pid} was given epoch {init.epoch}{after}", [before, init])
        else:
            newest[init.pid] = init


CHECKS = (
    Check(("inconsistent-offset",), ("log",), inconsistent_offsets),
    Check(
        ("internal-nonmonotonic-poll", "external-nonmonotonic-poll", "internal-poll-skip", "external-poll-skip"),
        ("poll",),
        unordered_reads,
    ),
    Check(("nonmonotonic-send",), ("send", "log"), unordered_sends),
    Check(("hanging-transaction",), ("partition",), hanging_transactions),
    Check(("zombie-append",), ("log.epoch",), zombie_appends),
    Check(("sequence-fault",), ("log.seq",), sequence_faults),
    Check(("epoch-fault",), ("init.epoch",), epoch_faults),
)
