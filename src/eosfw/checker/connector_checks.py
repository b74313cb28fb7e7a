"""Whether records and source offsets go together, and old generations of tasks stay silent (KIP-618)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Decision, Facts, Transaction
from eosfw.checker.operation import INVOKE, NONE, Operation


def records_without_offset(facts: Facts) -> Iterator[Anomaly]:
    """A visible record is not covered by the committed source offsets: the next task sends it again."""
    covered = {_place(record) for record in facts.of("source")}
    for entry in _visible_records(facts):
        if _place(entry) not in covered:
            what = f"{_record(entry)} is visible at {entry.part}@{entry.off}, and no committed offset covers it"
            yield anomaly("record-without-offset", what, [*facts.story_of(entry.val), entry])


def offsets_without_record(facts: Facts) -> Iterator[Anomaly]:
    """The committed source offsets cover a record of the source that is not visible: no task sends it again."""
    done = {_place(entry) for entry in _visible_records(facts)} | {_place(each) for each in facts.of("filtered")}
    hidden = {_place(entry): entry for entries in facts.log.values() for entry in entries if not entry.visible}
    for record in facts.of("source"):
        if _place(record) not in done:
            what = f"{_record(record)} is covered by the committed offsets, and is not visible"
            entry = hidden.get(_place(record))
            story = () if entry is None else (*facts.story_of(entry.val), entry)
            yield anomaly("offset-without-record", what, [*story, record])


def repeated_records(facts: Facts) -> Iterator[Anomaly]:
    """One record of the source is visible twice."""
    first: dict[tuple[str, int], Operation] = {}
    for entry in _visible_records(facts):
        before = first.setdefault(_place(entry), entry)
        if before is not entry:
            places = f"{before.part}@{before.off} and {entry.part}@{entry.off}"
            story = [*facts.story_of(before.val), *facts.story_of(entry.val)]
            yield anomaly("source-record-twice", f"{_record(entry)} is visible at {places}", [*story, before, entry])


def commits_of_old_generations(facts: Facts) -> Iterator[Anomaly]:
    """A generation commits after a newer one was fenced for, has committed, or has read where to go on."""
    newer: dict[str, list[Operation]] = defaultdict(list)
    for reason in [*facts.of("fence"), *facts.of("read-offsets"), *facts.of("commit")]:
        newer[reason.connector].append(reason)
    for reasons in newer.values():
        reasons.sort(key=lambda reason: reason.i)
    for transaction in facts.decided(Decision.COMMITTED):
        commit = transaction.commit
        if commit is None or commit.gen == NONE:
            continue
        for reason in newer[commit.connector]:
            if reason.i > commit.i:
                break
            if reason.gen > commit.gen:
                yield _late_commit(transaction, commit, reason)
                break


def _late_commit(transaction: Transaction, commit: Operation, reason: Operation) -> Anomaly:
    late = f"generation {commit.gen} of {commit.connector} committed after generation {reason.gen}"
    witness = [*transaction.sends[:1], reason, *transaction.ends]
    if reason.op == "read-offsets":
        return anomaly("stale-start", f"{late} had read where to go on", witness)
    return anomaly("two-generations", f"{late} {'was fenced for' if reason.op == 'fence' else 'committed'}", witness)


def initialisations_after_fencing(facts: Facts) -> Iterator[Anomaly]:
    """A task polls whose producer was initialised after a newer generation was fenced for: nobody will fence it again.

    One that was initialised before may poll, too: it is fenced, and none of its transactions is committed. What counts
    is the end of the call: a task reads the config topic after it, and has to see the newer generation there.
    """
    fences: dict[str, list[Operation]] = defaultdict(list)
    for fence in facts.of("fence"):
        fences[fence.connector].append(fence)
    inits: dict[str, list[Operation]] = defaultdict(list)
    for init in facts.of("init"):
        inits[init.proc].append(init)
    for start in facts.of("start"):
        last = next((each for each in reversed(inits[start.proc]) if each.i < start.i), None)
        if last is None:
            continue
        newer = (each for each in fences[start.connector] if each.i < last.i and each.gen > start.gen)
        first = next(newer, None)
        if first is not None:
            what = f"the producer of {start.proc} was initialised after generation {first.gen} was fenced for"
            yield anomaly("late-zombie", what, [first, last, start])


def missing_task_counts(facts: Facts) -> Iterator[Anomaly]:
    """A generation sends before its number of tasks is written: a later fencing would not know of all its tasks."""
    first: dict[tuple[str, int], Operation] = {}
    for send in facts.of("send", INVOKE):
        if send.gen != NONE:
            first.setdefault((send.connector, send.gen), send)
    counts = {(count.connector, count.gen): count for count in reversed(facts.of("task-count"))}
    for (connector, generation), send in first.items():
        count = counts.get((connector, generation))
        if count is None or count.i > send.i:
            what = f"generation {generation} of {connector} sent {send.val!r} before its task count was written"
            yield anomaly("task-count-missing", what, [send, count])


def dirty_starts(facts: Facts) -> Iterator[Anomaly]:
    """A task goes on from an offset that only a transaction without a commit has written."""
    committed: set[tuple[str, int]] = set()
    aborted: dict[tuple[str, int], tuple[Operation, Transaction]] = {}
    for transaction in facts.transactions.values():
        for offset in _placed(transaction.offsets):
            if facts.outcome(transaction) is Decision.ABORTED:
                aborted[offset.src_part, offset.src_off] = offset, transaction
            else:
                committed.add((offset.src_part, offset.src_off))
    for read in facts.of("read-offsets"):
        found = aborted.get((read.src_part, read.src_off))
        if found is not None and (read.src_part, read.src_off) not in committed:
            what = f"{read.proc} goes on after record {read.src_off} of {read.src_part}: that offset was not committed"
            yield anomaly("dirty-start", what, [found[0], *found[1].ends, read])


def offset_regressions(facts: Facts) -> Iterator[Anomaly]:
    """A committed source offset is less than one that was committed before this transaction asked for its commit."""
    newest: dict[str, tuple[Operation, Operation]] = {}
    for commit, end, transaction in facts.commits():
        for offset in {each.src_part: each for each in _placed(transaction.offsets)}.values():
            before = newest.get(offset.src_part)
            if before is not None and before[1].i < commit.i and offset.src_off < before[0].src_off:
                what = f"the offset of {offset.src_part} went back from {before[0].src_off} to {offset.src_off}"
                yield anomaly("offset-regression", what, [*before, offset, commit, end])
            newest[offset.src_part] = offset, end


def _placed(offsets: Iterable[Operation]) -> Iterator[Operation]:
    """Those of which the replay of the source says where they are."""
    return (offset for offset in offsets if offset.src_off != NONE)


def _visible_records(facts: Facts) -> Iterator[Operation]:
    return (entry for entries in facts.log.values() for entry in entries if entry.visible and entry.src_off != NONE)


def _place(operation: Operation) -> tuple[str, int]:
    return operation.src_part, operation.src_off


def _record(operation: Operation) -> str:
    return f"record {operation.src_off} of {operation.src_part}"


CHECKS = (
    Check(("record-without-offset",), ("source", "log"), records_without_offset),
    Check(("offset-without-record",), ("source", "log"), offsets_without_record),
    Check(("source-record-twice",), ("source", "log"), repeated_records),
    Check(("two-generations", "stale-start"), ("commit.gen", "read-offsets.gen"), commits_of_old_generations),
    Check(("late-zombie",), ("fence", "init", "start"), initialisations_after_fencing),
    Check(("task-count-missing",), ("task-count",), missing_task_counts),
    Check(("dirty-start",), ("read-offsets.src_off", "offset.src_off"), dirty_starts),
    Check(("offset-regression",), ("commit", "offset.src_off"), offset_regressions),
)
