"""Whether tasks keep to what is theirs: source partitions, offsets topics (KIP-618)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Decision, Facts
from eosfw.checker.operation import INVOKE, NONE, Operation


def double_assignments(facts: Facts) -> Iterator[Anomaly]:
    """Two tasks of one generation send records of one source partition at the same time."""
    spans: dict[tuple[str, int, str], dict[str, list[Operation]]] = defaultdict(dict)
    for send in facts.of("send", INVOKE):
        if send.src_part and send.gen != NONE:
            span = spans[send.connector, send.gen, send.src_part].setdefault(send.tid, [send, send])
            span[1] = send
    for (connector, generation, part), tasks in spans.items():
        before: list[Operation] | None = None
        for span in sorted(tasks.values(), key=lambda each: each[0].i):
            if before is not None and span[0].i < before[1].i:
                whose = f"{before[0].tid} and {span[0].tid} of generation {generation} of {connector}"
                yield anomaly("double-assignment", f"{whose} both send records of {part}", [*before, *span])
            before = span if before is None or span[1].i > before[1].i else before


def wrong_starts(facts: Facts) -> Iterator[Anomaly]:
    """A task goes on before the newest committed offset of the topic that goes first, or after one of another topic."""
    ends = [*facts.of("commit"), *facts.of("read-offsets")]
    newest: dict[tuple[str, str], Operation] = {}
    offered = {
        (_topic(offset), offset.src_part, offset.src_off)
        for transaction in facts.transactions.values()
        if transaction.decision is not Decision.ABORTED
        for offset in transaction.offsets
    }
    for event in sorted(ends, key=lambda each: each.i):
        if event.op == "commit":
            for offset in facts.transactions[event.writer].offsets:
                newest[_topic(offset), offset.src_part] = offset
        elif event.part:
            yield from _wrong_start(event, newest, offered)


def _wrong_start(
    read: Operation, newest: dict[tuple[str, str], Operation], offered: set[tuple[str, str, int]]
) -> Iterator[Anomaly]:
    own = newest.get((read.part, read.src_part))
    others = [offset for (topic, part), offset in newest.items() if part == read.src_part and topic != read.part]
    due = own or max(others, key=lambda offset: offset.src_off, default=None)
    if due is None or NONE in {offset.src_off for offset in (due, *others)} or read.src_off == due.src_off:
        return
    known = (read.part, read.src_part, read.src_off) in offered
    if read.src_off < due.src_off or (own is not None and not known):
        what = (
            f"{read.proc} goes on after record {read.src_off} of {read.src_part}, and {_topic(due)} has {due.src_off}"
        )
        yield anomaly("offsets-topic-switch", what, [due, *others, read])


def records_in_own_offsets_topic(facts: Facts) -> Iterator[Anomaly]:
    """A task sends a record to the topic of its own source offsets, which it would wait for at its next start."""
    topics: dict[str, dict[str, Operation]] = defaultdict(dict)
    for offset in facts.of("offset"):
        if offset.part:
            topics[offset.connector].setdefault(_topic(offset), offset)
    for send in facts.of("send", INVOKE):
        own = topics[send.connector].get(_topic(send)) if send.connector in topics else None
        if own is not None:
            what = f"{send.proc} sends {send.val!r} to {_topic(send)}, its own offsets topic"
            yield anomaly("own-offsets-topic", what, [own, send])


def _topic(operation: Operation) -> str:
    return operation.part.rpartition("-")[0]


CHECKS = (
    Check(("double-assignment",), ("send.src_part", "send.gen"), double_assignments),
    Check(("offsets-topic-switch",), ("offset.part", "read-offsets.part"), wrong_starts),
    Check(("own-offsets-topic",), ("offset.part",), records_in_own_offsets_topic),
)
