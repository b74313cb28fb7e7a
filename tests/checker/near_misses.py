"""What looks like an anomaly and is none, each in a history that has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from checker.history_edits import asked_by_connector, commit_of, one, requested, sends_of, with_, without
from checker.model_history import numbered
from checker.planted import crashed
from eosfw.checker import Operation

NearMiss = Callable[[list[Operation]], list[Operation]]


def wrong_fencing_range(history: list[Operation]) -> list[Operation]:
    """The ids are fenced in another order."""
    return [replace(each, ids=each.ids[::-1]) for each in history]


def zombie_leader_write(history: list[Operation]) -> list[Operation]:
    """The epochs of the first leader's producer id were used up, so that its successor has another one."""
    return [
        replace(each, pid=51, epoch=0) if each.op == "config" and each.epoch == 2 else each for each in history
    ]  # fmt: skip


def mixed_task_configs(history: list[Operation]) -> list[Operation]:
    """A commit record without a task's configuration begins no generation; the leader writes all of them again."""
    configs = [each for each in history if each.op == "config"]
    second = [each for each in configs if each.epoch == 2]
    refused = [replace(each, gen=-1) for each in second if each.val in ("task-1", "commit")]
    again = [*(each for each in configs if each.epoch == 1), *refused, *second]
    placed = [replace(each, off=off) for off, each in enumerate(again)]
    return with_(without(history, *configs[1:]), configs[0], *placed)


def unfenced_start(history: list[Operation]) -> list[Operation]:
    """Another leader fences once more for tasks that run, and fails."""
    start = one(history, "start", gen=2)
    again = replace(start, proc="leader", op="fence", val="")
    return with_(history, start, start, replace(again, type="invoke"), replace(again, type="fail"))


def failed_for_good(history: list[Operation]) -> list[Operation]:
    """One task has failed whose generation was superseded, others of something else than a fencing."""
    first, healed = one(history, "start", gen=1), one(history, "healed")
    begun = [each for each in history if each.op == "start" and each.gen == 2][-1]
    failed = replace(begun, op="failed", val="")
    fence = replace(begun, proc="leader", op="fence", type="info", val="")
    superseded = with_(history, first, replace(fence, gen=1), replace(failed, proc=first.proc, gen=1))
    return with_(superseded, healed, replace(failed, proc="task-7/2"), fence, failed, healed)


def dirty_start(history: list[Operation]) -> list[Operation]:
    """An offset that was aborted was committed, too, by the task that did the same work again."""
    read = one(history, "read-offsets", gen=2, src_part="s0")
    aborted = replace(read, op="offset", proc="task-0/1", tid="g-c-0", txn=99, gen=1)
    return with_(history, read, aborted, read)


def offset_regression(history: list[Operation]) -> list[Operation]:
    """The replay of the source does not say where the second offset is."""
    second = next(each for each in history if each.op == "offset" and each.writer == commit_of(history, 1))
    return with_(history, second, replace(second, src_off=-1))


def epoch_fault(history: list[Operation]) -> list[Operation]:
    """A producer has written nothing, so that nobody saw what it was given."""
    last = [each for each in history if (each.op, each.type) == ("init", "ok")][-1]
    return with_(history, last, replace(last, pid=-1, epoch=-1))


def double_assignment(history: list[Operation]) -> list[Operation]:
    """A source partition goes over to another task, which sends nothing of it before the first one has ended."""
    last = [each for each in history if (each.op, each.type, each.gen) == ("send", "invoke", 1)][-1]
    first = sends_of(history, commit_of(history))[0]
    return with_(history, last, last, replace(first, proc="task-1/1", tid="g-c-1", txn=99, val="handed over"))


def boundary_violation(history: list[Operation]) -> list[Operation]:
    """A task polls once more after the interval of its open transaction is over: that ends behind this poll."""
    send = sends_of(history, commit_of(history))[-1]
    poll = one(history, "source-poll", proc=send.proc)
    interval = [replace(each, val="interval", count=1) if each.op == "start" else each for each in history]
    return with_(interval, send, poll, send)


def interval_that_goes_on(history: list[Operation]) -> list[Operation]:
    """A task polls on and on in one transaction whose interval is not over."""
    send = sends_of(history, commit_of(history))[-1]
    poll = one(history, "source-poll", proc=send.proc)
    interval = [replace(each, val="interval", count=60_000) if each.op == "start" else each for each in history]
    return with_(interval, send, poll, poll, poll, send)


def transaction_of_many_polls(history: list[Operation]) -> list[Operation]:
    """A connector asks only in the last of some polls, and behind the last record of a transaction, its second one."""
    sends = sends_of(history, commit_of(history, 1))
    poll = [each for each in history if each.op == "source-poll" and each.proc == sends[0].proc][1]
    end = {"src_part": sends[-1].src_part, "src_off": sends[-1].src_off}
    request = replace(poll, op="request", val="commit", **end)  # type: ignore[arg-type]
    asked = asked_by_connector(history)
    first = asked.index(poll) + 1
    return with_([*asked[:first], *asked[first + 1 :]], sends[-1], poll, request, sends[-1])


def offsets_topic_switch(history: list[Operation]) -> list[Operation]:
    """The topic that goes first has less than the other one, and is what counts."""
    old = next(each for each in history if each.op == "offset" and each.writer == commit_of(history))
    return with_(history, old, replace(old, part="old-offsets-0", src_off=999), old)


def own_offsets_topic(history: list[Operation]) -> list[Operation]:
    """A connector sends to the offsets topic of another one."""
    send = sends_of(history, commit_of(history))[0]
    return with_(history, send, replace(send, part="offsets-0", connector="another"))


def illegal_state(history: list[Operation]) -> list[Operation]:
    """A coordinator repeats an append whose answer was lost."""
    prepared = one(history, "txn-state", val="PrepareCommit")
    return with_(history, prepared, prepared, prepared)


def unverified_append(history: list[Operation]) -> list[Operation]:
    """Of a producer id the log of transactions has nothing: it was compacted."""
    return [each for each in history if each.op != "txn-state" or each.pid != 0]


def group_offset_fault(history: list[Operation]) -> list[Operation]:
    """The answer to a commit is lost, and the group is given its offset."""
    commits = [each for each in history if (each.op, each.type, each.tid) == ("commit", "ok", "p")]
    return [replace(each, type="info") if each is commits[0] else each for each in history]


def unstable_offset(history: list[Operation]) -> list[Operation]:
    """The group is given the old offset before a new one is sent."""
    sent = [each for each in history if each.op == "group-offset"][-1]
    offset = one(history, "fetch-offset", off=5)
    return with_(history, sent, replace(offset, type="invoke", off=-1), offset, sent)


def forgotten_answer(history: list[Operation]) -> list[Operation]:
    """After a restart the coordinator goes on with another producer id, whose epochs begin again."""
    held = one(history, "held")
    return with_(history, held, replace(held, pid=held.pid + 1, epoch=0))


def unseen(history: list[Operation]) -> list[Operation]:
    """The reader stops early, and nothing says that the faults are over."""
    last = [each for each in history if each.op == "poll"][-1]
    return [each for each in history if each is not last and each.op != "healed"]


def batch_replayed(history: list[Operation]) -> list[Operation]:
    """A batch was published again, and that transaction was aborted."""
    end, row = one(history, "partition", part="rows-0"), one(history, "log", connector="q")
    again = replace(row, off=end.off, pid=71, epoch=0, seq=0, val="again", visible=False)
    marker = replace(end, op="marker", off=end.off + 1, seq=-1, pid=71, epoch=0, control="abort")
    return with_(history, end, again, marker, replace(end, off=end.off + 2, seq=end.seq + 2))


def two_attempts(history: list[Operation]) -> list[Operation]:
    """Tasks of one batch are of different attempts."""
    return [
        replace(each, gen=1) if each.op == "log" and each.src_part.endswith("/1") else each for each in history
    ]  # fmt: skip


def partial_batch(history: list[Operation]) -> list[Operation]:
    """Of a token that was not committed no row needs to be visible."""
    token = one(history, "token", txn=1)
    return with_(history, token, token, replace(token, txn=2, visible=False))


def lost_batch(history: list[Operation]) -> list[Operation]:
    """A batch without rows is published and finished."""
    token, checkpoint = one(history, "token", txn=1), one(history, "checkpoint", txn=1)
    return with_(history, checkpoint, checkpoint, replace(token, txn=2, count=0), replace(checkpoint, txn=2))


def lost_after_crash(history: list[Operation]) -> list[Operation]:
    """The power was cut under a broker that hands its records to the system, and waits for no disk."""
    return crashed(history, "process", "power")


def rebuilt_state_fault(history: list[Operation]) -> list[Operation]:
    """What was rebuilt is the same, and changes by what is appended until the next restart."""
    healed = one(history, "healed")
    state = replace(healed, proc="broker", op="state", part="t-0")
    known = [replace(state, type=each, val=val) for val in ("open at 7", "open at -1") for each in ("invoke", "ok")]
    return with_(history, healed, *known, healed)


def wrong_signature(history: list[Operation]) -> list[Operation]:
    """The same request is asked for again, with a signature of its own."""
    first = requested(history)
    again = [replace(each, val="other") for each in first if each.op in ("signed", "accepted")]
    return with_(first, first[-1], *again, first[-1])


NEAR_MISSES: dict[str, NearMiss] = {
    miss.__name__.replace("_", "-"): miss
    for miss in (
        wrong_fencing_range, zombie_leader_write, mixed_task_configs, unfenced_start, failed_for_good,
        dirty_start, offset_regression, epoch_fault,
        double_assignment, boundary_violation, offsets_topic_switch, own_offsets_topic,
        illegal_state, unverified_append, group_offset_fault, unstable_offset, forgotten_answer, unseen,
        batch_replayed, two_attempts, partial_batch, lost_batch, lost_after_crash, rebuilt_state_fault,
        wrong_signature,
    )
}  # fmt: skip


BOUNDARIES: dict[str, NearMiss] = {
    miss.__name__: miss for miss in (interval_that_goes_on, transaction_of_many_polls, asked_by_connector)
}
"""Transactions that end where they should."""


def near_miss(name: str, history: list[Operation]) -> list[Operation]:
    """The history with what is nearly this anomaly."""
    return numbered(NEAR_MISSES[name](history))
