"""Anomalies of connectors in a group of workers, each planted in a history that has none."""

from __future__ import annotations

from dataclasses import replace

from checker.history_edits import (
    Plant,
    asked_by_connector,
    commit_of,
    logged,
    one,
    requested,
    sends_of,
    with_,
    with_boundary,
    without,
)
from eosfw.checker import Operation


def record_without_offset(history: list[Operation]) -> list[Operation]:
    entry = logged(history, sends_of(history, commit_of(history))[0].val)
    return without(history, one(history, "source", src_part=entry.src_part, src_off=entry.src_off))


def offset_without_record(history: list[Operation]) -> list[Operation]:
    source = [each for each in history if each.op == "source"][-1]
    return with_(history, source, source, replace(source, src_off=source.src_off + 1))


def source_record_twice(history: list[Operation]) -> list[Operation]:
    """The first record of the second transaction is the first record of the source once more."""
    first, again = (logged(history, sends_of(history, commit_of(history, number))[0].val) for number in (0, 1))
    return with_(history, again, replace(again, src_off=first.src_off))


def two_generations(history: list[Operation]) -> list[Operation]:
    """The first commit is asked for after the second generation was fenced for; no offsets are read in between."""
    writer = commit_of(history)
    calls = [each for each in history if each.op == "commit" and each.writer == writer]
    fence = one(history, "fence", gen=2)
    return with_(without(history, *calls), fence, fence, *calls)


def stale_start(history: list[Operation]) -> list[Operation]:
    writer = commit_of(history)
    calls = [each for each in history if each.op == "commit" and each.writer == writer]
    read = one(history, "read-offsets", gen=2)
    later = without(history, *calls, *(each for each in history if each.op == "fence" and each.gen == 2))
    return with_(later, read, read, *calls)


def late_zombie(history: list[Operation]) -> list[Operation]:
    """The initialisation ends after the fencing for its successors; that a task polls only then is no anomaly."""
    start, fence = one(history, "start", gen=1), one(history, "fence", gen=2)
    init = one(history, "init", proc=start.proc)
    return with_(without(history, init, start), fence, fence, init, start)


def task_count_missing(history: list[Operation]) -> list[Operation]:
    return without(history, one(history, "task-count", gen=2))


def dirty_start(history: list[Operation]) -> list[Operation]:
    read = one(history, "read-offsets", gen=2, src_part="s0")
    never = replace(read, op="offset", proc="task-0/1", tid="g-c-0", txn=99, gen=1, src_off=5000)
    return with_(history, read, never, replace(read, src_off=5000))


def offset_regression(history: list[Operation]) -> list[Operation]:
    """The second commit of a task has an offset before that of its first."""
    first, second = (
        next(each for each in history if each.op == "offset" and each.writer == commit_of(history, number))
        for number in (0, 1)
    )
    return with_(history, second, replace(second, src_off=first.src_off - 1))


def wrong_fencing_range(history: list[Operation]) -> list[Operation]:
    """The fencing leaves out the last task of the generation before."""
    return [
        replace(each, ids=each.ids[:-1]) if (each.op, each.type, each.gen) == ("fence", "invoke", 2) else each
        for each in history
    ]


def zombie_leader_write(history: list[Operation]) -> list[Operation]:
    """The leader of the first generation writes a number of tasks behind the second leader."""
    last = [each for each in history if each.op == "config"][-1]
    return with_(history, last, last, replace(last, off=last.off + 1, epoch=1))


def mixed_task_configs(history: list[Operation]) -> list[Operation]:
    """The second generation is committed without a configuration of its first task."""
    second = [each for each in history if each.op == "config" and each.val == "task-0"][1]
    return without(history, second)


def unfenced_start(history: list[Operation]) -> list[Operation]:
    """Tasks of the second generation poll although its fencing has failed."""
    return [
        replace(each, type="fail") if (each.op, each.type, each.gen) == ("fence", "ok", 2) else each for each in history
    ]


def failed_for_good(history: list[Operation]) -> list[Operation]:
    """No task of the second generation is started again after the first fencing has timed out."""
    return [
        each for each in history
        if not (each.gen == 2 and (each.op == "start" or (each.op, each.type) == ("fence", "ok")))
    ]  # fmt: skip


def double_assignment(history: list[Operation]) -> list[Operation]:
    """The second task of the first generation sends a record of the first one's source partition in the midst of it."""
    writer = commit_of(history)
    first, last = sends_of(history, writer)[:: len(sends_of(history, writer)) - 1]
    other = replace(first, proc="task-1/1", tid="g-c-1", txn=99, val="stolen")
    return with_(history, last, other, last)


def boundary_violation(history: list[Operation]) -> list[Operation]:
    """A task polls again before the offsets of the first poll were sent."""
    send = sends_of(history, commit_of(history))[-1]
    poll = one(history, "source-poll", proc=send.proc)
    return with_(history, send, poll, send)


def interval_violation(history: list[Operation]) -> list[Operation]:
    """A task polls twice after the interval of its open transaction is over."""
    send = sends_of(history, commit_of(history))[-1]
    poll = one(history, "source-poll", proc=send.proc)
    return with_(with_boundary(history, "interval", count=1), send, poll, poll, send)


def request_violation(history: list[Operation]) -> list[Operation]:
    """A task polls again although it has asked to commit what the poll before returned."""
    return boundary_violation(asked_by_connector(history))


def unasked_commit(history: list[Operation]) -> list[Operation]:
    """A task that has asked for nothing commits."""
    return with_boundary(history, "connector")


def passed_request(history: list[Operation]) -> list[Operation]:
    """A transaction goes on behind the record at which it was to end."""
    first, _ = sends_of(history, commit_of(history))[:2]
    where = {"src_part": first.src_part, "src_off": first.src_off}
    request = replace(one(history, "source-poll", proc=first.proc), op="request", val="commit", **where)  # type: ignore[arg-type]
    return with_(asked_by_connector(history), first, request, first)


def offsets_topic_switch(history: list[Operation]) -> list[Operation]:
    """The second generation goes on from the topic that is no longer first, which has less."""
    read = one(history, "read-offsets", gen=2, src_part="s0")
    old = next(each for each in history if each.op == "offset" and each.writer == commit_of(history))
    elsewhere = replace(old, part="old-offsets-0", src_off=0)
    return with_(with_(history, old, elsewhere, old), read, replace(read, src_off=0))


def own_offsets_topic(history: list[Operation]) -> list[Operation]:
    send = sends_of(history, commit_of(history))[0]
    return with_(history, send, replace(send, part="offsets-0"))


def wrong_signature(history: list[Operation]) -> list[Operation]:
    """One request is accepted twice."""
    return requested(history, times=2)


IN_CONNECTORS: tuple[Plant, ...] = (
    record_without_offset,
    offset_without_record,
    source_record_twice,
    two_generations,
    stale_start,
    late_zombie,
    task_count_missing,
    dirty_start,
    offset_regression,
    wrong_fencing_range,
    zombie_leader_write,
    mixed_task_configs,
    unfenced_start,
    failed_for_good,
    double_assignment,
    boundary_violation,
    offsets_topic_switch,
    own_offsets_topic,
    wrong_signature,
)
BOUNDARIES: dict[str, Plant] = {
    plant.__name__: plant for plant in (interval_violation, request_violation, unasked_commit, passed_request)
}
"""Further ways in which a transaction can end in the wrong place."""
