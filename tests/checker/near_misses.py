"""What looks like an anomaly and is none, each in a history that has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from checker.model_history import numbered
from checker.planted import commit_of, one, sends_of, with_, without
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
    """A task has failed whose generation was superseded."""
    start = one(history, "start", gen=1)
    fence = replace(start, proc="leader", op="fence", type="info", val="")
    return with_(history, start, fence, replace(start, op="failed", val=""))


def double_assignment(history: list[Operation]) -> list[Operation]:
    """A source partition goes over to another task, which sends nothing of it before the first one has ended."""
    last = [each for each in history if (each.op, each.type, each.gen) == ("send", "invoke", 1)][-1]
    first = sends_of(history, commit_of(history))[0]
    return with_(history, last, last, replace(first, proc="task-1/1", tid="g-c-1", txn=99, val="handed over"))


def boundary_violation(history: list[Operation]) -> list[Operation]:
    """A task polls in the midst of a transaction whose boundary is an interval."""
    send = sends_of(history, commit_of(history))[-1]
    poll = one(history, "source-poll", proc=send.proc)
    interval = [replace(each, val="interval") if each.op == "start" else each for each in history]
    return with_(interval, send, poll, send)


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


NEAR_MISSES: dict[str, NearMiss] = {
    miss.__name__.replace("_", "-"): miss
    for miss in (
        wrong_fencing_range, zombie_leader_write, mixed_task_configs, unfenced_start, failed_for_good,
        double_assignment, boundary_violation, offsets_topic_switch, own_offsets_topic,
        illegal_state, unverified_append, group_offset_fault, unstable_offset, unseen,
        batch_replayed, two_attempts, partial_batch, lost_batch,
    )
}  # fmt: skip


def near_miss(name: str, history: list[Operation]) -> list[Operation]:
    """The history with what is nearly this anomaly."""
    return numbered(NEAR_MISSES[name](history))
