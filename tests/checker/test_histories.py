"""What is no history is refused, and one that is cut off shows nothing (CHK-03, CHK-04)."""

from __future__ import annotations

import gc
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.model_history import model_history, numbered
from checker.planted import planted
from eosfw.checker import (
    Judgement,
    Operation,
    check_history,
    operation_from_json,
    operation_to_json,
    read_history,
    write_history,
)
from eosfw.errors import DamagedDataError

NUMBERS, TEXTS = st.integers(-1, 2**63), st.text(max_size=8)


@given(
    st.builds(
        Operation, i=NUMBERS, t=st.floats(0, 1e9), proc=TEXTS, op=st.just("poll"), type=st.just("ok"), tid=TEXTS,
        epoch=NUMBERS, val=TEXTS, visible=st.booleans(), reads=st.lists(st.tuples(TEXTS, NUMBERS, TEXTS)).map(tuple),
    )
)  # fmt: skip
def test_an_operation_is_the_same_after_it_was_written_and_read(operation: Operation) -> None:
    line = operation_to_json(operation)
    assert "\n" not in line
    assert operation_from_json(line) == operation


def test_what_the_log_shows_is_committed_though_no_producer_heard_of_it() -> None:
    """A source of one transaction, whose commit the broker answers by stopping."""
    told = [each for each in model_history(1) if (each.op, each.type) == ("commit", "ok")]
    history = [replace(each, type="info") if each in told else each for each in model_history(1)]

    assert check_history(history).gaps == ()
    assert check_history(history).committed > 0


def test_a_history_is_the_same_after_it_was_written_and_read(tmp_path: Path) -> None:
    write_history(tmp_path / "h", model_history(1))
    assert read_history(tmp_path / "h") == model_history(1)


LINE = {"i": 0, "t": 0, "proc": "p", "op": "poll", "type": "ok"}
MALFORMED = {
    "not JSON": ["{"],
    "not a JSON object": ["[]"],
    "lacks op, type": ['{"i": 0, "t": 0, "proc": "p"}'],
    "unknown field 'colour'": [json.dumps(LINE | {"colour": "red"})],
    "unknown operation 'jump'": [json.dumps(LINE | {"op": "jump"})],
    "unknown type 'maybe'": [json.dumps(LINE | {"type": "maybe"})],
    "epoch is str, not int": [json.dumps(LINE | {"epoch": "1"})],
    "epoch is bool, not int": [json.dumps(LINE | {"epoch": True})],
    "val is NoneType, not str": [json.dumps(LINE | {"val": None})],
    "reads is not a list": [json.dumps(LINE | {"reads": [["t-0", 1]]})],
    "has the number 5, not 0": [json.dumps(LINE | {"i": 5})],
    "goes back in time": [json.dumps(LINE | {"t": 2}), json.dumps(LINE | {"i": 1, "t": 1})],
    "ends a call of 'commit' that did not begin": [json.dumps(LINE | {"op": "commit"})],
    "or ended before": [
        json.dumps(LINE | {"op": "commit", "type": "invoke"}),
        json.dumps(LINE | {"op": "commit", "i": 1}),
        json.dumps(LINE | {"op": "commit", "i": 2}),
    ],
}


@pytest.mark.parametrize("reason", MALFORMED)
def test_a_malformed_line_is_refused_with_its_number(tmp_path: Path, reason: str) -> None:
    (tmp_path / "h").write_text("\n".join(MALFORMED[reason]) + "\n")
    with pytest.raises(DamagedDataError, match=rf"h, line {len(MALFORMED[reason])}: .*{re.escape(reason)}"):
        read_history(tmp_path / "h")


@given(text=st.text())
@settings(max_examples=30)
def test_no_text_is_more_than_refused(text: str) -> None:
    try:
        operation_from_json(text)
    except DamagedDataError:
        return
    pytest.fail(f"{text!r} is no operation")


def test_a_history_that_was_cut_off_shows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "h"
    write_history(path, model_history(1))
    path.write_text(path.read_text()[:-5])
    checked = check_history(read_history(path))
    assert checked.judgement is Judgement.NOTHING_SHOWN
    assert checked.gaps == ("the history is cut off: it has no last line 'end'",)


def test_a_history_without_the_fault_that_was_asked_for_shows_nothing() -> None:
    history = model_history(1)
    assert check_history(history, ["partition"]).gaps == ("the fault 'partition' was asked for, and did not happen",)
    happened = numbered([replace(history[-1], op="fault", val="partition"), *history])
    assert check_history(happened, ["partition"]).judgement is Judgement.GOOD


def test_an_empty_history_shows_nothing() -> None:
    checked = check_history([])
    assert checked.judgement is Judgement.NOTHING_SHOWN
    assert len(checked.gaps) == 3


def test_anomalies_are_named_although_the_history_was_cut_off() -> None:
    cut = planted("duplicate", model_history(1))[:-1]
    assert check_history(cut).judgement is Judgement.ANOMALIES


def test_what_cannot_be_found_in_a_history_is_listed() -> None:
    unread = [each for each in model_history(1) if each.op != "poll"]
    assert "aborted-read" in check_history(numbered(unread)).not_looked_for
    assert set(check_history(model_history(1)).not_looked_for) == {
        "precommitted-read", "circular-read", "lost-after-crash", "rebuilt-state-fault", "wrong-signature",
    }  # fmt: skip


def operations(lines: str) -> list[Operation]:
    """Operations of lines such as `p send invoke txn=1 val=a`, all with the transactional id `x`."""
    made = []
    for line in lines.strip().splitlines():
        proc, op, kind, *facts = line.split()
        given = {name: json.loads(fact) for name, fact in (each.split("=") for each in facts)}
        made.append(Operation(i=0, t=0, proc=proc, op=op, type=kind, tid="x", **given))
    return numbered(made)


def test_a_cycle_of_writes_alone_is_legal() -> None:
    """Kafka does not keep transactions of different producers apart where they write (G0)."""
    interleaved = """
        a send invoke txn=1 part="t-0" val="a0"
        b send invoke txn=1 part="t-0" val="b0"
        b send invoke txn=1 part="t-1" val="b1"
        a send invoke txn=1 part="t-1" val="a1"
        a commit invoke txn=1
        b commit invoke txn=1
        a commit ok txn=1
        b commit ok txn=1
        log log ok part="t-0" off=0 val="a0" visible=true pid=1 epoch=0 seq=0
        log log ok part="t-0" off=1 val="b0" visible=true pid=2 epoch=0 seq=0
        log log ok part="t-1" off=0 val="b1" visible=true pid=2 epoch=0 seq=0
        log log ok part="t-1" off=1 val="a1" visible=true pid=1 epoch=0 seq=0
        log partition ok part="t-0" off=2 seq=2
        log partition ok part="t-1" off=2 seq=2
        log end ok
    """
    assert check_history(operations(interleaved)).judgement is Judgement.GOOD


def test_a_control_record_without_a_record_is_legal() -> None:
    """A partition that was added to a transaction and not written to has its control record all the same."""
    history = model_history(1)
    end = next(each for each in history if each.op == "partition")
    marker = replace(end, op="marker", control="commit", off=end.off, seq=-1, pid=0, epoch=999)
    grown = replace(end, off=end.off + 1, seq=end.seq + 1)
    at = history.index(end)
    assert check_history(numbered([*history[:at], marker, grown, *history[at + 1 :]])).judgement is Judgement.GOOD


def test_the_same_control_record_twice_is_legal() -> None:
    """A coordinator writes it again where the answer was lost."""
    history = model_history(1)
    end = next(each for each in history if each.op == "partition")
    last = next(each for each in reversed(history) if each.op == "marker" and each.part == end.part)
    grown = replace(end, off=end.off + 1, seq=end.seq + 1)
    at = history.index(end)
    again = numbered([*history[:at], replace(last, off=end.off), grown, *history[at + 1 :]])
    assert check_history(again).judgement is Judgement.GOOD


def test_the_collector_of_cycles_goes_on_after_a_history_was_refused(tmp_path: Path) -> None:
    (tmp_path / "h").write_text("{\n")
    with pytest.raises(DamagedDataError):
        read_history(tmp_path / "h")
    assert gc.isenabled()
