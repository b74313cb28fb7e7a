"""Rows that a tap gives again are told from new ones, whatever its replication key is like."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import DamagedDataError
from eosfw_singer.messages import RecordMessage, SchemaMessage, StateMessage
from eosfw_singer.position import Position
from eosfw_singer.repeats import Repeats, Seen, order_of
from eosfw_singer.run import RunSettings, TapRun
from eosfw_singer.schemas import TypeSettings

SCHEMA = SchemaMessage("s", {"properties": {"at": {"type": "integer"}, "n": {"type": "integer"}}}, (), ("at",))


def settings(**changes):
    return RunSettings(**{
        "topic_prefix": "", "types": TypeSettings(), "replication_keys": {}, "full_tables": frozenset(), "lookback": 0,
        "send_older": False, "whole_run": False, **changes,
    })  # fmt: skip


def notices(*_):
    """Nobody reads them."""


@st.composite
def histories(draw):
    """Rows that come over time, with the runs that read them: each is killed behind so many rows, or ends."""
    rows, last, runs = [], 0, []
    for _ in range(draw(st.integers(1, 5))):
        for _ in range(draw(st.integers(0, 6))):
            last += draw(st.integers(0, 1))
            rows.append((last, draw(st.integers(0, 2))))
        runs.append((len(rows), draw(st.integers(0, 12)), draw(st.integers(1, 3))))
    return rows, [*runs, (len(rows), None, 2)]


@given(histories())
def test_ties_are_sent_once_each_wherever_a_run_is_killed(history):
    """SNG-02: rows that share a key, some of which cannot be told apart, and which may come later than their ties."""
    rows, runs = history
    position, sent = Position(), Counter()
    for existing, killed_behind, every in runs:
        run = TapRun(settings(), position, notices)
        run.take(SCHEMA)
        begin = (position.value() or {"bookmarks": {"s": -1}})["bookmarks"]["s"]
        asked = sorted(at for at in rows[:existing] if at[0] >= begin)[:killed_behind]
        for number, (at, n) in enumerate(asked, start=1):
            run.take(RecordMessage("s", {"at": at, "n": n}))
            if number % every == 0:
                run.take(StateMessage({"bookmarks": {"s": at}}))
        if killed_behind is None:
            run.end()
        if run.ends:  # what is committed
            count, position = run.ends[-1]
            sent.update((row.record["at"], row.record["n"]) for row in run.taken(count))
            position = Position.of(position.offset)
    assert sent == Counter(rows)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (1, 2), (9, 10), (1.5, 2), ("2024-01-01", "2024-01-02"), ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00.5Z"),
        ("2024-01-01T01:00:00+02:00", "2024-01-01T00:00:00+00:00"), ("2023-12-31T23:59:59.9", "2024-01-01"), ("a", "b"),
        ("2024-01-01T00:00:00", "2024-01-01T00:00:00.123456789Z"),
    ],
)  # fmt: skip
def test_keys_are_compared_by_what_they_mean(earlier, later):
    """SNG-02: as texts some moments stand in another order."""
    assert order_of(earlier) < order_of(later)


@pytest.mark.parametrize("key", [None, [], {}])
def test_a_row_without_a_key_is_new_each_time(key):
    """SNG-02: no bookmark asks for it."""
    repeats = Repeats(None, 0)
    assert [repeats.of("s").take({"at": key}, key) for _ in range(2)] == [Seen.NEW, Seen.NEW]
    assert repeats.text() is None


def again(lookback, *keys, stored=None):
    """What is said of rows with these keys, in a run behind another one."""
    repeats = Repeats(stored, lookback)
    return [repeats.of("s").take({"at": at}, at) for at in keys], repeats.text()


@pytest.mark.parametrize(
    ("lookback", "old", "expected"),
    [
        (0, [3, 4], ["unknown", "repeated", "new"]),
        (2, [2, 3, 4], ["repeated", "repeated", "repeated", "new"]),
        (2, [1, 2], ["unknown", "repeated", "new"]),
    ],
)
def test_a_row_older_than_all_that_are_remembered_is_neither_new_nor_repeated(lookback, old, expected):
    """SNG-05: `lookback.rows` says how far back rows are known."""
    _, stored = again(lookback, 1, 2, 3, 4)
    seen, _ = again(lookback, *old, 5, stored=stored)
    assert [one.value for one in seen] == expected


def test_an_older_row_is_refused_or_sent():
    """SNG-05: by `older.rows`, never unnoticed."""
    _, stored = again(0, 1, 2)
    for send in (False, True):
        run = TapRun(settings(send_older=send), Position(repeats=stored), notices)
        run.take(SCHEMA)
        if send:
            run.take(RecordMessage("s", {"at": 1, "n": 7}))
            run.end()
            assert [row.record["n"] for row in run.ready] == [7]
        else:
            with pytest.raises(DamagedDataError, match=r"stream 's' whose 'at' lies before all .* older\.rows = send"):
                run.take(RecordMessage("s", {"at": 1, "n": 7}))


def test_more_ties_than_an_offset_holds_are_refused():
    """SNG-05: they are not forgotten in silence."""
    repeats = Repeats(None, 0)
    for number in range(45_000):
        repeats.of("s").take({"at": 1, "n": number}, 1)
    with pytest.raises(DamagedDataError, match=r"45000 rows of stream 's' .* replication key that fewer rows share"):
        repeats.text()


def test_when_a_row_was_extracted_is_no_difference():
    """SNG-02: some taps write that into the row."""
    repeats = Repeats(None, 0)
    repeats.of("s").take({"at": 1, "_sdc_extracted_at": "2024-01-01"}, 1)
    repeats = Repeats(repeats.text(), 0)
    assert repeats.of("s").take({"at": 1, "_sdc_extracted_at": "2024-01-02"}, 1) is Seen.REPEATED
