"""Groups of rows end where a tap can be started again."""

from __future__ import annotations

import pytest

from eosfw.errors import DamagedDataError
from eosfw_singer.messages import (
    ActivateVersionMessage,
    OtherMessage,
    RecordMessage,
    SchemaMessage,
    StateMessage,
)
from eosfw_singer.position import Position
from eosfw_singer.run import TapRun

from .test_repeats import settings

FULL = SchemaMessage("s", {"properties": {"n": {"type": "integer"}}}, (), ())


def row(n, version=None):
    return RecordMessage("s", {"n": n}, version)


def groups(messages, start=None, *, said=None, ended=True, **changes):
    """The rows of each group that these messages make, and the place behind the last."""
    run = TapRun(settings(**changes), start or Position(), lambda *one: said is None or said.append(one))
    run.take(FULL)
    for message in messages:
        run.take(message)
    if ended:
        run.end()
    found, before = [], 0
    for at, _ in run.ends:
        found.append([one.record["n"] for one in run.ready[before:at]])
        before = at
    return found, run.ends[-1][1] if run.ends else None


STATE_A, STATE_B = StateMessage({"bookmarks": {"s": 1}}), StateMessage({"bookmarks": {"s": 2}})
MARKED = StateMessage({"bookmarks": {"s": {"progress_markers": {"Note": "not resumable"}}}})


@pytest.mark.parametrize(
    ("messages", "changes", "expected"),
    [
        ([row(1), STATE_A, row(2), STATE_B], {}, [[1], [2]]),
        ([row(1), STATE_A, row(2), STATE_A, row(3), STATE_B], {}, [[1], [2, 3]]),  # it goes on at the same place
        ([row(1), MARKED, row(2), STATE_A], {}, [[1, 2]]),
        ([row(1), STATE_A, row(2), STATE_B], {"whole_run": True}, [[1, 2]]),
        ([STATE_A, row(1), row(2)], {}, [[], [1, 2]]),  # a full table, or a tap that never writes a STATE
        ([row(1), row(2)], {}, [[1, 2]]),
        ([], {}, []),
    ],
)
def test_a_group_ends_at_a_state_at_which_the_tap_goes_on(messages, changes, expected):
    """SNG-04: one that is as before, or of which the tap says that it cannot be resumed, ends nothing."""
    assert groups(messages, **changes)[0] == expected


def test_a_run_that_has_not_ended_gives_nothing_behind_its_last_state():
    """SNG-03: that is read again."""
    assert groups([row(1), STATE_A, row(2)], ended=False)[0] == [[1]]


def test_a_run_without_news_moves_no_offset():
    """SNG-04: else an idle source would write an offset each time."""
    _, place = groups([row(1), STATE_A])
    assert groups([STATE_A], place) == ([], None)


def test_each_run_of_a_full_table_gives_all_rows_at_places_of_their_own():
    """SNG-06: as its tap gives them, since nothing says which of them are new."""
    first, place = groups([row(1), row(2), STATE_A])
    second, after = groups([row(1), row(2), STATE_A], place)
    assert (first, second) == ([[1, 2]], [[1, 2]])
    assert place.number < after.number


def test_a_stream_without_replication_key_is_named_once():
    """SNG-06: its rows are sent again when the tap gives them again, which nobody else would say."""
    said = []
    groups([FULL, row(1)], said=said)
    assert [kind for kind, _, _ in said] == ["streams without replication key"]
    said.clear()
    groups([FULL, row(1)], said=said, full_tables=frozenset({"s"}))
    assert said == []


def test_rows_behind_a_state_can_be_left_out():
    """SNG-01: a place between two STATEs is so many rows behind the first."""
    start = Position('{"bookmarks":{"s":1}}', 1, 2)
    assert groups([row(1), row(2), row(3), STATE_B], start)[0] == [[3]]
    with pytest.raises(DamagedDataError, match="gave 1 rows where 2 had been sent"):
        groups([row(1), STATE_B], start)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (RecordMessage("t", {}), "a row of stream 't' before its SCHEMA"),
        (OtherMessage("BATCH"), "in files"),
        (
            SchemaMessage("s", {"properties": {"a": {}}}, ("id",), ()),
            "'id' as a key property, but has no such property",
        ),
    ],
)
def test_what_cannot_be_taken_is_refused(message, said):
    """SNG-08: in one sentence."""
    with pytest.raises(DamagedDataError, match=said):
        groups([message])


def test_versions_and_unknown_messages_are_reported():
    """SNG-14: nothing can be taken back from a topic, so the version stands in a header."""
    said = []
    groups([ActivateVersionMessage("s", 5), OtherMessage("LOG")], said=said, full_tables=frozenset({"s"}))
    assert [kind for kind, _, _ in said] == ["activated versions", "unknown messages"]
