"""What coordinators give and hold is judged by what they have answered, and by when that counts (CHK-01, CHK-02)."""

from __future__ import annotations

from typing import Any

import pytest

from eosfw.checker import Operation, check_history

Events = list[tuple[Any, ...]]
NEVER_COMMITTED, OLD, GONE = "which was not committed", "and 7 was committed", "which was forgotten"


def sent(off: int, txn: int = -1) -> Events:
    return [("group-offset", "invoke", off, txn), ("group-offset", "ok", off, txn)]


def commit(txn: int) -> Events:
    return [("commit", "invoke", -1, txn), ("commit", "ok", -1, txn)]


def given(off: int, op: str = "fetch-offset") -> Events:
    return [(op, "invoke", -1, -1), (op, "ok", off, -1)]


def as_history(events: Events) -> list[Operation]:
    return [
        Operation(
            i=i, t=0.0, proc="p" if txn > 0 else "q", tid="p" if txn > 0 else "", op=op, type=kind, off=off, txn=txn,
            **({} if op == "commit" else {"val": "group", "part": "in-0"}),
        )
        for i, (op, kind, off, txn) in enumerate(events)
    ]  # fmt: skip


FORGOTTEN: Events = [("group-offset", "ok", -1, -1)]


@pytest.mark.parametrize(
    ("events", "what"),
    [
        ([*sent(5), *sent(7), *given(7)], None),
        ([*sent(5), *sent(7), *given(5)], OLD),
        ([*sent(7), *given(-1)], OLD),
        # Its answer was lost: nobody knows whether it counts.
        ([*sent(5), sent(7)[0], *given(5), *given(7)], None),
        # Of two at once either may be the later one.
        ([sent(5)[0], *sent(7), sent(5)[1], *given(5)], None),
        # What was written later is newer, whichever commit came first.
        ([*sent(5, 1), *sent(7), *commit(1), *given(7)], None),
        ([*sent(5, 1), *sent(7), *commit(1), *given(5)], OLD),
        ([*sent(5, 1), *sent(7, 2), *commit(2), *commit(1), *given(7)], None),
        ([*sent(5, 1), *commit(1), *sent(7, 2), *commit(2), *given(5, "fetch-any-offset")], None),
        ([*sent(5, 1), *given(5, "fetch-any-offset")], NEVER_COMMITTED),
        ([*sent(5), *sent(7), *given(5, "fetch-any-offset")], OLD),
        ([*sent(5, 1), *commit(1)[:1], *given(5)], None),
        ([*sent(5, 1), *given(5), *commit(1)], NEVER_COMMITTED),
        ([*sent(5), *FORGOTTEN, *given(-1)], None),
        ([*sent(5), *FORGOTTEN, *given(5)], GONE),
        ([*sent(5), *FORGOTTEN, *sent(7), *given(-1)], OLD),
        # A transaction whose offset was forgotten is pending no more.
        ([*sent(5, 1), *FORGOTTEN, *given(-1), *commit(1)], None),
        ([*sent(5), *sent(7, 1), *given(5), *commit(1)], "was given 5 for in-0 while 7 was pending"),
        ([*sent(5), *sent(7, 1), *given(5, "fetch-any-offset"), *commit(1)], None),
        ([*sent(5), sent(7, 1)[0], *given(5), sent(7, 1)[1], *commit(1)], None),
    ],
)
def test_an_offset_is_judged_by_when_it_was_written_and_counts(events: Events, what: str | None) -> None:
    history = as_history(events)
    found = [each.what for each in check_history(history).anomalies]
    assert what in found[0] if what is not None else not found, found


def held(epoch: int, state: str = "Ongoing", pid: int = 7) -> Operation:
    return Operation(i=9, t=0.0, proc="coordinator", op="held", type="ok", tid="p", pid=pid, epoch=epoch, val=state)


@pytest.mark.parametrize(
    ("val", "after", "what"),
    [
        ("commit", held(3), None),
        ("commit", held(3, "CompleteCommit"), None),
        ("commit", held(4, "CompleteAbort"), None),
        ("commit", held(0, "Empty", pid=8), None),
        ("end", held(3, "PrepareAbort"), None),
        ("init", held(3, "Empty"), None),
        (
            "init",
            held(2, "Empty"),
            "holds Empty in epoch 2 of producer 7 for p, and had answered its init",
        ),
        ("commit", held(3, "PrepareAbort"), "holds PrepareAbort in epoch 3"),
        ("abort", held(3, "CompleteCommit"), "holds CompleteCommit in epoch 3"),
        ("abort", held(-1, "", pid=-1), "holds nothing for p"),
    ],
)
def test_a_coordinator_holds_what_it_answered_before_a_restart(val: str, after: Operation, what: str | None) -> None:
    answered = Operation(i=0, t=0.0, proc="coordinator", op="answered", type="ok", tid="p", pid=7, epoch=3, val=val)
    other = Operation(i=1, t=0.0, proc="coordinator", op="answered", type="ok", tid="q", pid=9, epoch=9, val="init")
    found = check_history([answered, other, after]).anomalies
    assert [each.name for each in found] == ["forgotten-answer"] * (what is not None)
    assert what is None or what in found[0].what


@pytest.mark.parametrize(
    ("events", "off", "what"),
    [
        ([*sent(5), *sent(7)], 7, None),
        ([*sent(5), sent(7)[0]], 5, None),
        ([*sent(5), *sent(7)], 5, "for group group 5 for in-0, and 7 was committed"),
        ([*sent(5, 1), *commit(1)], -1, "for group group -1 for in-0, and 5 was committed"),
        ([*sent(5, 1)], 5, "for group group 5 for in-0, which was not committed"),
    ],
)
def test_a_coordinator_holds_the_offsets_that_were_committed_before_a_restart(
    events: Events, off: int, what: str | None
) -> None:
    history = as_history([*events, ("held", "ok", off, -1)])
    found = check_history(history).anomalies
    assert [each.name for each in found] == ["forgotten-answer"] * (what is not None)
    assert what is None or what in found[0].what
