"""What a consumer group is given is judged by what was written for it, and by when that counts (CHK-01, CHK-02)."""

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
    history = [
        Operation(
            i=i, t=0.0, proc="p" if txn > 0 else "q", tid="p" if txn > 0 else "", op=op, type=kind, off=off, txn=txn,
            **({} if op == "commit" else {"val": "group", "part": "in-0"}),
        )
        for i, (op, kind, off, txn) in enumerate(events)
    ]  # fmt: skip
    found = [each.what for each in check_history(history).anomalies]
    assert what in found[0] if what is not None else not found, found
