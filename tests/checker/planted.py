"""Anomalies, each planted in a history that has none."""

from __future__ import annotations

from dataclasses import replace

from checker.history_edits import (
    History,
    Plant,
    commit_of,
    hidden,
    logged,
    one,
    sends_of,
    with_,
    without,
)
from checker.model_history import PARTS, numbered
from checker.planted_in_connectors import IN_CONNECTORS
from checker.planted_in_queries import IN_QUERIES
from eosfw.checker import Operation


def lost_write(history: list[Operation]) -> list[Operation]:
    return without(history, logged(history, sends_of(history, commit_of(history))[0].val))


def duplicate(history: list[Operation]) -> list[Operation]:
    end, entry = (
        one(history, "partition", part=PARTS[0]),
        logged(history, sends_of(history, commit_of(history))[0].val),
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
    return hidden(history, [sends_of(history, commit_of(history))[0].val])


def torn_transaction(history: list[Operation]) -> list[Operation]:
    return hidden(history, [send.val for send in sends_of(history, commit_of(history)) if send.part == PARTS[0]])


def wrong_verdict(history: list[Operation]) -> list[Operation]:
    return hidden(history, [send.val for send in sends_of(history, commit_of(history))])


def transaction_bleed(history: list[Operation]) -> list[Operation]:
    """The last record of a transaction comes after the control record of its transaction."""
    late = logged(history, sends_of(history, commit_of(history))[-1].val)
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
    first, second = (logged(history, send.val) for send in part[:2])
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
    entry = logged(history, sends_of(history, commit_of(history))[-1].val)
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
    lasts = {send.part: logged(history, send.val) for send in sends_of(history, writer)}
    return [
        next(each for each in history if each.op == "marker" and each.part == part and each.off > last.off)
        for part, last in lasts.items()
    ]


def stable_offset_fault(history: list[Operation]) -> list[Operation]:
    """The last control record is missing, and the last stable offset is at the end all the same."""
    return without(history, _last_marker(history))


def shared_epoch(history: list[Operation]) -> list[Operation]:
    """Every record has the epoch of the first."""
    epoch = logged(history, sends_of(history, commit_of(history))[0].val).epoch
    return [replace(each, epoch=epoch) if each.op == "log" else each for each in history]


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


PLANTS: dict[str, Plant] = {
    plant.__name__.replace("_", "-"): plant
    for plant in (
        lost_write, duplicate, aborted_read, partial_transaction, torn_transaction, wrong_verdict, transaction_bleed,
        precommitted_read, circular_read, inconsistent_offset, internal_nonmonotonic_poll, external_nonmonotonic_poll,
        internal_poll_skip, external_poll_skip, nonmonotonic_send, hanging_transaction, zombie_append, sequence_fault,
        epoch_fault, marker_fault, opposite_marker, read_against_marker, stable_offset_fault, shared_epoch,
        illegal_state, unverified_append, group_offset_fault, unstable_offset, forgotten_answer, unseen,
        lost_after_crash, rebuilt_state_fault, *IN_CONNECTORS, *IN_QUERIES,
    )
}  # fmt: skip


def planted(name: str, history: list[Operation]) -> list[Operation]:
    """The history with one anomaly in it."""
    return numbered(PLANTS[name](history))
