"""Anomalies, each planted in a history that has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from checker.model_history import PARTS, committed_transactions, numbered
from eosfw.checker import Operation

History = Sequence[Operation]
Plant = Callable[[list[Operation]], list[Operation]]


def _commit(history: History, number: int = 0) -> tuple[str, str, int]:
    return list(committed_transactions(history))[number]


def _sends(history: History, writer: tuple[str, str, int], kind: str = "invoke") -> list[Operation]:
    return [each for each in history if (each.op, each.type) == ("send", kind) and each.writer == writer]


def _logged(history: History, value: str) -> Operation:
    return next(each for each in history if each.op == "log" and each.val == value)


def _one(history: History, op: str, **facts: object) -> Operation:
    return next(
        each for each in history
        if (each.op, each.type) == (op, "ok") and all(getattr(each, name) == fact for name, fact in facts.items())
    )  # fmt: skip


def _without(history: History, *gone: Operation) -> list[Operation]:
    return [each for each in history if each not in gone]


def _with(history: History, old: Operation, *new: Operation) -> list[Operation]:
    return [after for each in history for after in (new if each is old else (each,))]


def _hidden(history: History, values: Sequence[str], *, visible: bool = False) -> list[Operation]:
    shown = [replace(each, visible=visible) if each.op == "log" and each.val in values else each for each in history]
    return [each for each in shown if each.op != "poll"]  # the log alone is looked at


def lost_write(history: list[Operation]) -> list[Operation]:
    return _without(history, _logged(history, _sends(history, _commit(history))[0].val))


def duplicate(history: list[Operation]) -> list[Operation]:
    end, entry = _one(history, "partition", part=PARTS[0]), _logged(history, _sends(history, _commit(history))[0].val)
    return _with(
        history,
        end,
        replace(entry, off=end.off, pid=77, epoch=0, seq=0),
        replace(end, off=end.off + 1, seq=end.off + 1),
    )


def aborted_read(history: list[Operation]) -> list[Operation]:
    return [replace(each, type="fail") if _ends_first_commit(history, each) else each for each in history]


def _ends_first_commit(history: History, each: Operation) -> bool:
    return (each.op, each.type) == ("commit", "ok") and each.writer == _commit(history)


def partial_transaction(history: list[Operation]) -> list[Operation]:
    return _hidden(history, [_sends(history, _commit(history))[0].val])


def torn_transaction(history: list[Operation]) -> list[Operation]:
    return _hidden(history, [send.val for send in _sends(history, _commit(history)) if send.part == PARTS[0]])


def wrong_verdict(history: list[Operation]) -> list[Operation]:
    return _hidden(history, [send.val for send in _sends(history, _commit(history))])


def transaction_bleed(history: list[Operation]) -> list[Operation]:
    """The last record of a transaction comes after the control record of its transaction."""
    late = _logged(history, _sends(history, _commit(history))[-1].val)
    marker = next(each for each in history if each.op == "marker" and each.part == late.part and each.off > late.off)
    moved = [replace(late, off=marker.off), replace(marker, off=late.off)]
    return _with(_with(history, late, moved[1]), marker, moved[0])


def precommitted_read(history: list[Operation]) -> list[Operation]:
    send = _sends(history, _commit(history), "ok")[0]
    poll = replace(send, op="poll", reads=((send.part, send.off, send.val),), val="", part="", off=-1, proc=send.proc)
    return _with(history, send, send, poll)


def circular_read(history: list[Operation]) -> list[Operation]:
    first, second = _sends(history, _commit(history), "ok")[0], _sends(history, _commit(history, 1), "ok")[0]
    end = history[-1]
    polls = [
        replace(
            end, op="poll", proc=reader.proc, tid=reader.tid, txn=reader.txn, reads=((sent.part, sent.off, sent.val),)
        )
        for reader, sent in ((first, second), (second, first))
    ]
    return _with(history, end, *polls, end)


def inconsistent_offset(history: list[Operation]) -> list[Operation]:
    send = _sends(history, _commit(history), "ok")[0]
    return _with(history, send, replace(send, off=send.off + 1))


def _poll_of(history: History, length: int) -> Operation:
    return next(each for each in history if each.op == "poll" and len(each.reads) >= length)


def internal_nonmonotonic_poll(history: list[Operation]) -> list[Operation]:
    poll = _poll_of(history, 2)
    return _with(history, poll, replace(poll, reads=poll.reads[::-1]))


def external_nonmonotonic_poll(history: list[Operation]) -> list[Operation]:
    poll = _poll_of(history, 1)
    return _with(history, poll, poll, poll)


def internal_poll_skip(history: list[Operation]) -> list[Operation]:
    poll = _poll_of(history, 3)
    return _with(history, poll, replace(poll, reads=(poll.reads[0], poll.reads[2])))


def external_poll_skip(history: list[Operation]) -> list[Operation]:
    first, second = [each for each in history if each.op == "poll" and each.reads[0][0] == PARTS[0]][:2]
    return _with(_with(history, first, replace(first, reads=first.reads[:1])), second, second)


def nonmonotonic_send(history: list[Operation]) -> list[Operation]:
    part = [send for send in _sends(history, _commit(history)) if send.part == PARTS[0]]
    first, second = (_logged(history, send.val) for send in part[:2])
    swapped = _with(_with(history, first, replace(first, val=second.val)), second, replace(second, val=first.val))
    return [each for each in swapped if each.op != "poll" and (each.op, each.type) != ("send", "ok")]


def hanging_transaction(history: list[Operation]) -> list[Operation]:
    end = _one(history, "partition", part=PARTS[0])
    return _with(history, end, replace(end, off=end.off - 1))


def zombie_append(history: list[Operation]) -> list[Operation]:
    end = _one(history, "partition", part=PARTS[0])
    last = [each for each in history if each.op == "log" and each.part == PARTS[0]][-1]
    zombie = replace(last, off=end.off, epoch=last.epoch - 50, seq=0, val="zombie", visible=False)
    return _with(history, end, zombie, replace(end, off=end.off + 1, seq=end.off + 1))


def sequence_fault(history: list[Operation]) -> list[Operation]:
    entry = _logged(history, _sends(history, _commit(history))[-1].val)
    return _with(history, entry, replace(entry, seq=entry.seq + 1))


def epoch_fault(history: list[Operation]) -> list[Operation]:
    last = [each for each in history if (each.op, each.type) == ("init", "ok")][-1]
    return _with(history, last, replace(last, epoch=0))


def _last_marker(history: History) -> Operation:
    return [each for each in history if each.op == "marker" and each.part == PARTS[0]][-1]


def marker_fault(history: list[Operation]) -> list[Operation]:
    """The control record in one of two partitions is the opposite of the other."""
    marker = _last_marker(history)
    return _with(history, marker, replace(marker, control="abort" if marker.control == "commit" else "commit"))


def opposite_marker(history: list[Operation]) -> list[Operation]:
    """Where each transaction raises the epoch, the opposite control record is appended, too."""
    raised = [replace(each, epoch=_ended_epoch(history, each) + 1) if each.op == "marker" else each for each in history]
    end, marker = _one(raised, "partition", part=PARTS[0]), _last_marker(raised)
    opposite = "abort" if marker.control == "commit" else "commit"
    second = replace(marker, off=end.off, control=opposite)
    return _with(raised, end, second, replace(end, off=end.off + 1, seq=end.off + 1))


def _ended_epoch(history: History, marker: Operation) -> int:
    return next(
        each.epoch for each in reversed(history)
        if each.op == "log" and (each.part, each.pid) == (marker.part, marker.pid) and each.off < marker.off
    )  # fmt: skip


def read_against_marker(history: list[Operation]) -> list[Operation]:
    """A transaction of which the producer knows nothing is shown although it was aborted."""
    writer = _commit(history)
    return [
        replace(each, type="info") if _ends_first_commit(history, each)
        else replace(each, control="abort") if each in _markers_of(history, writer)
        else each
        for each in history
    ]  # fmt: skip


def _markers_of(history: History, writer: tuple[str, str, int]) -> list[Operation]:
    lasts = {send.part: _logged(history, send.val) for send in _sends(history, writer)}
    return [
        next(each for each in history if each.op == "marker" and each.part == part and each.off > last.off)
        for part, last in lasts.items()
    ]


def stable_offset_fault(history: list[Operation]) -> list[Operation]:
    """The last control record is missing, and the last stable offset is at the end all the same."""
    return _without(history, _last_marker(history))


def shared_epoch(history: list[Operation]) -> list[Operation]:
    """Every record has the epoch of the first."""
    epoch = _logged(history, _sends(history, _commit(history))[0].val).epoch
    return [replace(each, epoch=epoch) if each.op == "log" else each for each in history]


def record_without_offset(history: list[Operation]) -> list[Operation]:
    entry = _logged(history, _sends(history, _commit(history))[0].val)
    return _without(history, _one(history, "source", src_part=entry.src_part, src_off=entry.src_off))


def offset_without_record(history: list[Operation]) -> list[Operation]:
    source = [each for each in history if each.op == "source"][-1]
    return _with(history, source, source, replace(source, src_off=source.src_off + 1))


def source_record_twice(history: list[Operation]) -> list[Operation]:
    """The first record of the second transaction is the first record of the source once more."""
    first, again = (_logged(history, _sends(history, _commit(history, number))[0].val) for number in (0, 1))
    return _with(history, again, replace(again, src_off=first.src_off))


def two_generations(history: list[Operation]) -> list[Operation]:
    """The first commit is asked for after the second generation was fenced for; no offsets are read in between."""
    writer = _commit(history)
    calls = [each for each in history if each.op == "commit" and each.writer == writer]
    fence = _one(history, "fence", gen=2)
    return _with(_without(history, *calls), fence, fence, *calls)


def stale_start(history: list[Operation]) -> list[Operation]:
    writer = _commit(history)
    calls = [each for each in history if each.op == "commit" and each.writer == writer]
    read = _one(history, "read-offsets", gen=2)
    later = _without(history, *calls, *(each for each in history if each.op == "fence" and each.gen == 2))
    return _with(later, read, read, *calls)


def late_zombie(history: list[Operation]) -> list[Operation]:
    """The producer is initialised after the fencing for its successors; that a task polls only then is no anomaly."""
    start, fence = _one(history, "start", gen=1), _one(history, "fence", gen=2)
    init = next(each for each in history if (each.op, each.type, each.proc) == ("init", "invoke", start.proc))
    return _with(_without(history, init, start), fence, fence, init, start)


def task_count_missing(history: list[Operation]) -> list[Operation]:
    return _without(history, _one(history, "task-count", gen=2))


def dirty_start(history: list[Operation]) -> list[Operation]:
    read = _one(history, "read-offsets", gen=2, src_part="s0")
    never = replace(read, op="offset", proc="task-0/1", tid="g-c-0", txn=99, gen=1, src_off=5000)
    return _with(history, read, never, replace(read, src_off=5000))


def offset_regression(history: list[Operation]) -> list[Operation]:
    """The second commit of a task has an offset before that of its first."""
    first, second = (
        next(each for each in history if each.op == "offset" and each.writer == _commit(history, number))
        for number in (0, 1)
    )
    return _with(history, second, replace(second, src_off=first.src_off - 1))


PLANTS: dict[str, Plant] = {
    plant.__name__.replace("_", "-"): plant
    for plant in (
        lost_write, duplicate, aborted_read, partial_transaction, torn_transaction, wrong_verdict, transaction_bleed,
        precommitted_read, circular_read, inconsistent_offset, internal_nonmonotonic_poll, external_nonmonotonic_poll,
        internal_poll_skip, external_poll_skip, nonmonotonic_send, hanging_transaction, zombie_append, sequence_fault,
        epoch_fault, marker_fault, opposite_marker, read_against_marker, stable_offset_fault, shared_epoch,
        record_without_offset, offset_without_record, source_record_twice, two_generations, stale_start,
        late_zombie, task_count_missing, dirty_start, offset_regression,
    )
}  # fmt: skip


def planted(name: str, history: list[Operation]) -> list[Operation]:
    """The history with one anomaly in it."""
    return numbered(PLANTS[name](history))
