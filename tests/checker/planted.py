"""Anomalies, each planted in a history that has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from checker.model_history import PARTS, committed_transactions, numbered
from eosfw.checker import NONE, Operation

History = Sequence[Operation]
Plant = Callable[[list[Operation]], list[Operation]]


def commit_of(history: History, number: int = 0) -> tuple[str, str, int]:
    return list(committed_transactions(history))[number]


def sends_of(history: History, writer: tuple[str, str, int], kind: str = "invoke") -> list[Operation]:
    return [each for each in history if (each.op, each.type) == ("send", kind) and each.writer == writer]


def _logged(history: History, value: str) -> Operation:
    return next(each for each in history if each.op == "log" and each.val == value)


def one(history: History, op: str, **facts: object) -> Operation:
    return next(
        each for each in history
        if (each.op, each.type) == (op, "ok") and all(getattr(each, name) == fact for name, fact in facts.items())
    )  # fmt: skip


def without(history: History, *gone: Operation) -> list[Operation]:
    return [each for each in history if each not in gone]


def with_(history: History, old: Operation, *new: Operation) -> list[Operation]:
    return [after for each in history for after in (new if each is old else (each,))]


def _hidden(history: History, values: Sequence[str], *, visible: bool = False) -> list[Operation]:
    shown = [replace(each, visible=visible) if each.op == "log" and each.val in values else each for each in history]
    return [each for each in shown if each.op != "poll"]  # the log alone is looked at


def lost_write(history: list[Operation]) -> list[Operation]:
    return without(history, _logged(history, sends_of(history, commit_of(history))[0].val))


def duplicate(history: list[Operation]) -> list[Operation]:
    end, entry = (
        one(history, "partition", part=PARTS[0]),
        _logged(history, sends_of(history, commit_of(history))[0].val),
    )
    return with_(
        history,
        end,
        replace(entry, off=end.off, pid=77, epoch=0, seq=0),
        replace(end, off=end.off + 1, seq=end.off + 1),
    )


def aborted_read(history: list[Operation]) -> list[Operation]:
    return [replace(each, type="fail") if _ends_first_commit(history, each) else each for each in history]


def _ends_first_commit(history: History, each: Operation) -> bool:
    return (each.op, each.type) == ("commit", "ok") and each.writer == commit_of(history)


def partial_transaction(history: list[Operation]) -> list[Operation]:
    return _hidden(history, [sends_of(history, commit_of(history))[0].val])


def torn_transaction(history: list[Operation]) -> list[Operation]:
    return _hidden(history, [send.val for send in sends_of(history, commit_of(history)) if send.part == PARTS[0]])


def wrong_verdict(history: list[Operation]) -> list[Operation]:
    return _hidden(history, [send.val for send in sends_of(history, commit_of(history))])


def transaction_bleed(history: list[Operation]) -> list[Operation]:
    """The last record of a transaction comes after the control record of its transaction."""
    late = _logged(history, sends_of(history, commit_of(history))[-1].val)
    marker = next(each for each in history if each.op == "marker" and each.part == late.part and each.off > late.off)
    moved = [replace(late, off=marker.off), replace(marker, off=late.off)]
    return with_(with_(history, late, moved[1]), marker, moved[0])


def precommitted_read(history: list[Operation]) -> list[Operation]:
    send = sends_of(history, commit_of(history), "ok")[0]
    poll = replace(send, op="poll", reads=((send.part, send.off, send.val),), val="", part="", off=-1, proc=send.proc)
    return with_(history, send, send, poll)


def circular_read(history: list[Operation]) -> list[Operation]:
    first, second = sends_of(history, commit_of(history), "ok")[0], sends_of(history, commit_of(history, 1), "ok")[0]
    end = history[-1]
    polls = [
        replace(
            end, op="poll", proc=reader.proc, tid=reader.tid, txn=reader.txn, reads=((sent.part, sent.off, sent.val),)
        )
        for reader, sent in ((first, second), (second, first))
    ]
    return with_(history, end, *polls, end)


def inconsistent_offset(history: list[Operation]) -> list[Operation]:
    send = sends_of(history, commit_of(history), "ok")[0]
    return with_(history, send, replace(send, off=send.off + 1))


def _poll_of(history: History, length: int) -> Operation:
    return next(each for each in history if each.op == "poll" and len(each.reads) >= length)


def internal_nonmonotonic_poll(history: list[Operation]) -> list[Operation]:
    poll = _poll_of(history, 2)
    return with_(history, poll, replace(poll, reads=poll.reads[::-1]))


def external_nonmonotonic_poll(history: list[Operation]) -> list[Operation]:
    poll = _poll_of(history, 1)
    return with_(history, poll, poll, poll)


def internal_poll_skip(history: list[Operation]) -> list[Operation]:
    poll = _poll_of(history, 3)
    return with_(history, poll, replace(poll, reads=(poll.reads[0], poll.reads[2])))


def external_poll_skip(history: list[Operation]) -> list[Operation]:
    first, second = [each for each in history if each.op == "poll" and each.reads[0][0] == PARTS[0]][:2]
    return with_(with_(history, first, replace(first, reads=first.reads[:1])), second, second)


def nonmonotonic_send(history: list[Operation]) -> list[Operation]:
    part = [send for send in sends_of(history, commit_of(history)) if send.part == PARTS[0]]
    first, second = (_logged(history, send.val) for send in part[:2])
    swapped = with_(with_(history, first, replace(first, val=second.val)), second, replace(second, val=first.val))
    return [each for each in swapped if each.op != "poll" and (each.op, each.type) != ("send", "ok")]


def hanging_transaction(history: list[Operation]) -> list[Operation]:
    end = one(history, "partition", part=PARTS[0])
    return with_(history, end, replace(end, off=end.off - 1))


def zombie_append(history: list[Operation]) -> list[Operation]:
    end = one(history, "partition", part=PARTS[0])
    last = [each for each in history if each.op == "log" and each.part == PARTS[0]][-1]
    zombie = replace(last, off=end.off, epoch=last.epoch - 50, seq=0, val="zombie", visible=False)
    return with_(history, end, zombie, replace(end, off=end.off + 1, seq=end.off + 1))


def sequence_fault(history: list[Operation]) -> list[Operation]:
    entry = _logged(history, sends_of(history, commit_of(history))[-1].val)
    return with_(history, entry, replace(entry, seq=entry.seq + 1))


def epoch_fault(history: list[Operation]) -> list[Operation]:
    last = [each for each in history if (each.op, each.type) == ("init", "ok")][-1]
    return with_(history, last, replace(last, epoch=0))


def _last_marker(history: History) -> Operation:
    return [each for each in history if each.op == "marker" and each.part == PARTS[0]][-1]


def marker_fault(history: list[Operation]) -> list[Operation]:
    """The control record in one of two partitions is the opposite of the other."""
    marker = _last_marker(history)
    return with_(history, marker, replace(marker, control="abort" if marker.control == "commit" else "commit"))


def opposite_marker(history: list[Operation]) -> list[Operation]:
    """Where each transaction raises the epoch, the opposite control record is appended, too."""
    raised = [replace(each, epoch=_ended_epoch(history, each) + 1) if each.op == "marker" else each for each in history]
    end, marker = one(raised, "partition", part=PARTS[0]), _last_marker(raised)
    opposite = "abort" if marker.control == "commit" else "commit"
    second = replace(marker, off=end.off, control=opposite)
    return with_(raised, end, second, replace(end, off=end.off + 1, seq=end.off + 1))


def _ended_epoch(history: History, marker: Operation) -> int:
    return next(
        each.epoch for each in reversed(history)
        if each.op == "log" and (each.part, each.pid) == (marker.part, marker.pid) and each.off < marker.off
    )  # fmt: skip


def read_against_marker(history: list[Operation]) -> list[Operation]:
    """A transaction of which the producer knows nothing is shown although it was aborted."""
    writer = commit_of(history)
    return [
        replace(each, type="info") if _ends_first_commit(history, each)
        else replace(each, control="abort") if each in _markers_of(history, writer)
        else each
        for each in history
    ]  # fmt: skip


def _markers_of(history: History, writer: tuple[str, str, int]) -> list[Operation]:
    lasts = {send.part: _logged(history, send.val) for send in sends_of(history, writer)}
    return [
        next(each for each in history if each.op == "marker" and each.part == part and each.off > last.off)
        for part, last in lasts.items()
    ]


def stable_offset_fault(history: list[Operation]) -> list[Operation]:
    """The last control record is missing, and the last stable offset is at the end all the same."""
    return without(history, _last_marker(history))


def shared_epoch(history: list[Operation]) -> list[Operation]:
    """Every record has the epoch of the first."""
    epoch = _logged(history, sends_of(history, commit_of(history))[0].val).epoch
    return [replace(each, epoch=epoch) if each.op == "log" else each for each in history]


def record_without_offset(history: list[Operation]) -> list[Operation]:
    entry = _logged(history, sends_of(history, commit_of(history))[0].val)
    return without(history, one(history, "source", src_part=entry.src_part, src_off=entry.src_off))


def offset_without_record(history: list[Operation]) -> list[Operation]:
    source = [each for each in history if each.op == "source"][-1]
    return with_(history, source, source, replace(source, src_off=source.src_off + 1))


def source_record_twice(history: list[Operation]) -> list[Operation]:
    """The first record of the second transaction is the first record of the source once more."""
    first, again = (_logged(history, sends_of(history, commit_of(history, number))[0].val) for number in (0, 1))
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


def _with_boundary(history: History, boundary: str, **facts: object) -> list[Operation]:
    return [replace(each, val=boundary, **facts) if each.op == "start" else each for each in history]  # type: ignore[arg-type]


def interval_violation(history: list[Operation]) -> list[Operation]:
    """A task polls twice after the interval of its open transaction is over."""
    send = sends_of(history, commit_of(history))[-1]
    poll = one(history, "source-poll", proc=send.proc)
    return with_(_with_boundary(history, "interval", count=1), send, poll, poll, send)


def asked_by_connector(history: History) -> list[Operation]:
    """A task asks in each poll to commit what that returns."""
    asked = _with_boundary(history, "connector")
    polls = [each for each in asked if each.op == "source-poll"]
    return [
        after for each in asked
        for after in ((each, replace(each, op="request", val="commit")) if each in polls else (each,))
    ]  # fmt: skip


def request_violation(history: list[Operation]) -> list[Operation]:
    """A task polls again although it has asked to commit what the poll before returned."""
    return boundary_violation(asked_by_connector(history))


def unasked_commit(history: list[Operation]) -> list[Operation]:
    """A task that has asked for nothing commits."""
    return _with_boundary(history, "connector")


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


def illegal_state(history: list[Operation]) -> list[Operation]:
    """A transaction is complete that was never prepared."""
    return without(history, _state(history, "PrepareCommit"))


def _state(history: History, state: str) -> Operation:
    return one(history, "txn-state", tid="g-c-0", val=state)


def unverified_append(history: list[Operation]) -> list[Operation]:
    """A partition was never added to the transaction."""
    state = _state(history, "Ongoing")
    return [
        replace(each, ids=PARTS[1:]) if each.op == "txn-state" and each.epoch == state.epoch else each
        for each in history
    ]


def group_offset_fault(history: list[Operation]) -> list[Operation]:
    """The group is given the offset of the transaction that was aborted."""
    return _second_fetch(history, 9)


def _second_fetch(history: History, off: int) -> list[Operation]:
    second = [each for each in history if (each.op, each.type) == ("fetch-offset", "ok")][1]
    return with_(history, second, replace(second, off=off))


def unstable_offset(history: list[Operation]) -> list[Operation]:
    """The group is given the old offset before the commit of the new one is asked for."""
    commit = [each for each in history if (each.op, each.type, each.tid) == ("commit", "invoke", "p")][-1]
    offset = one(history, "fetch-offset", off=5)
    return with_(history, commit, replace(offset, type="invoke", off=-1), offset, commit)


def forgotten_answer(history: list[Operation]) -> list[Operation]:
    """After a restart the coordinator holds the epoch before."""
    held = one(history, "held")
    return with_(history, held, replace(held, epoch=held.epoch - 1))


def unseen(history: list[Operation]) -> list[Operation]:
    """The reader leaves out the first records of a partition."""
    return without(history, _poll_of(history, 1))


def batch_replayed(history: list[Operation]) -> list[Operation]:
    """The first row of the first batch is once more in the second one's transaction."""
    row = _row(history, 1)
    return with_(history, row, replace(row, txn=0, src_part="q/0/0"))


def _row(history: History, batch: int) -> Operation:
    return one(history, "log", connector="q", txn=batch)


def two_attempts(history: list[Operation]) -> list[Operation]:
    """Another attempt of a task has its first row in the place of the second."""
    first, second = [each for each in history if each.op == "log" and each.connector == "q"][:2]
    return with_(history, second, replace(second, src_off=first.src_off, gen=1))


def partial_batch(history: list[Operation]) -> list[Operation]:
    token = one(history, "token", txn=1)
    return with_(history, token, replace(token, count=token.count + 1))


def lost_batch(history: list[Operation]) -> list[Operation]:
    """The checkpoint has a batch that was never published."""
    checkpoint = one(history, "checkpoint", txn=1)
    return with_(history, checkpoint, checkpoint, replace(checkpoint, txn=2))


def crashed(history: History, keeps: str, ended: str) -> list[Operation]:
    """A broker that declares what its records outlive crashes when all is committed, and a record is gone."""
    healed = one(history, "healed")
    declared = replace(healed, proc="broker", op="durability", val=keeps)
    crash = replace(healed, proc="broker", op="crash", val=ended)
    return with_(lost_write(list(history)), healed, declared, crash, healed)


def lost_after_crash(history: list[Operation]) -> list[Operation]:
    return crashed(history, "process", "process")


def rebuilt_state_fault(history: list[Operation]) -> list[Operation]:
    """A broker has forgotten an open transaction."""
    healed = one(history, "healed")
    state = replace(healed, proc="broker", op="state", part=PARTS[0])
    before, after = replace(state, type="invoke", val="open at 7"), replace(state, val="open at -1")
    return with_(history, healed, before, after, healed)


REQUEST = ("http://a", "PUT", "/connectors/c/fence", "digest")


def requested(
    history: History, *, after: float = 0.0, ids: tuple[str, ...] = REQUEST, times: int = 1, age: int = NONE
) -> list[Operation]:
    """A worker asks another one for a fencing, which accepts that so many seconds later, and so often.

    `age` is what the clocks of the two make of that, in ms.
    """
    end = history[-1]
    signed = replace(end, proc="b", op="signed", val="key", ids=REQUEST, count=60_000)
    accepted = replace(end, proc="a", op="accepted", val="key", ids=ids, count=age)
    made = numbered([*history[:-1], signed, *[accepted] * times, end])
    return [replace(each, t=each.t + after) if each.op in ("accepted", "end") else each for each in made]


def wrong_signature(history: list[Operation]) -> list[Operation]:
    """One request is accepted twice."""
    return requested(history, times=2)


PLANTS: dict[str, Plant] = {
    plant.__name__.replace("_", "-"): plant
    for plant in (
        lost_write, duplicate, aborted_read, partial_transaction, torn_transaction, wrong_verdict, transaction_bleed,
        precommitted_read, circular_read, inconsistent_offset, internal_nonmonotonic_poll, external_nonmonotonic_poll,
        internal_poll_skip, external_poll_skip, nonmonotonic_send, hanging_transaction, zombie_append, sequence_fault,
        epoch_fault, marker_fault, opposite_marker, read_against_marker, stable_offset_fault, shared_epoch,
        record_without_offset, offset_without_record, source_record_twice, two_generations, stale_start,
        late_zombie, task_count_missing, dirty_start, offset_regression,
        wrong_fencing_range, zombie_leader_write, mixed_task_configs, unfenced_start, failed_for_good,
        double_assignment, boundary_violation, offsets_topic_switch, own_offsets_topic,
        illegal_state, unverified_append, group_offset_fault, unstable_offset, forgotten_answer, unseen,
        batch_replayed, two_attempts, partial_batch, lost_batch, lost_after_crash, rebuilt_state_fault,
        wrong_signature,
    )
}  # fmt: skip


BOUNDARIES: dict[str, Plant] = {
    plant.__name__: plant for plant in (interval_violation, request_violation, unasked_commit, passed_request)
}
"""Further ways in which a transaction can end in the wrong place."""


def planted(name: str, history: list[Operation]) -> list[Operation]:
    """The history with one anomaly in it."""
    return numbered(PLANTS[name](history))
