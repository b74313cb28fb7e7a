"""Rows that a tap gives again are told from new ones, whatever its replication key is like."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import DamagedDataError
from eosfw_singer.latest_rows import Seen, order_of
from eosfw_singer.messages import RecordMessage, SchemaMessage, StateMessage
from eosfw_singer.position import Position
from eosfw_singer.repeats import Repeats, partition_columns
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


@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=6), max_size=5), st.randoms())
def test_rows_come_once_whatever_the_order_in_which_a_run_gives_them(turns, rng):
    """SNG-02: the newest first, say, or in none, with a bookmark behind all of them."""
    position, rows, sent, begin = Position(), [], Counter(), -1
    for new in turns:
        rows += [(begin + at, n) for at, n in new if at or begin >= 0]
        run = TapRun(settings(), position, notices)
        run.take(SCHEMA)
        asked = [row for row in rows if row[0] >= begin]
        rng.shuffle(asked)
        for at, n in asked:
            run.take(RecordMessage("s", {"at": at, "n": n}))
        begin = max((at for at, _ in asked), default=begin)
        run.take(StateMessage({"bookmarks": {"s": begin}}))
        run.end()
        if run.ends:
            count, position = run.ends[-1]
            sent.update((row.record["at"], row.record["n"]) for row in run.taken(count))
            position = Position.of(position.offset)
    assert sent == Counter(rows)


KEYED = SchemaMessage("s", {"properties": {"at": {"type": "integer"}, "id": {}, "n": {}}}, ("id",), ("at",))


@st.composite
def tables(draw):
    """Changes of a table, (key, its replication key, its content), in the turns between two runs of a tap."""
    last, turns = 0, []
    for _ in range(draw(st.integers(1, 6))):
        changes = []
        for _ in range(draw(st.integers(0, 4))):
            last += draw(st.integers(0, 1))
            changes.append((draw(st.integers(0, 2)), last, draw(st.integers(0, 1))))
        turns.append((changes, draw(st.one_of(st.none(), st.integers(0, 4)))))
    return [*turns, ([], None)]


@given(tables(), st.booleans())
def test_a_table_is_what_the_last_version_of_each_row_makes(turns, twice):
    """SNG-02: also where a row changes there and back within one replication key; no version comes twice in a row."""
    position, table, sent = Position(), {}, []
    for changes, killed_behind in turns:
        table |= {key: {"id": key, "at": at, "n": n} for key, at, n in changes}
        run = TapRun(settings(), position, notices)
        run.take(KEYED)
        begin = (position.value() or {"bookmarks": {"s": -1}})["bookmarks"]["s"]
        asked = sorted((row for row in table.values() if row["at"] >= begin), key=lambda row: row["at"])
        for row in (asked * 2 if twice and killed_behind is None else asked)[:killed_behind]:
            run.take(RecordMessage("s", dict(row)))
            run.take(StateMessage({"bookmarks": {"s": row["at"]}}))
        if killed_behind is None:
            run.end()
        if run.ends:
            count, position = run.ends[-1]
            sent += [row.record for row in run.taken(count)]
    versions = {key: [row for row in sent if row["id"] == key] for key in table}
    assert {key: rows[-1] for key, rows in versions.items()} == table
    if not twice:  # a tap that gives all rows twice gives rows that it has left behind
        assert all(one != other for rows in versions.values() for one, other in pairwise(rows))


@given(histories())
def test_a_log_of_versions_is_sent_once(history):
    """SNG-02: a tap that gives all versions of a row, though it says that they have one key."""
    rows, runs = history
    log = [{"id": key, "at": at, "n": number} for number, (at, key) in enumerate(rows)]
    position, sent = Position(), []
    for existing, killed_behind, every in runs:
        run = TapRun(settings(), position, notices)
        run.take(KEYED)
        begin = (position.value() or {"bookmarks": {"s": -1}})["bookmarks"]["s"]
        for number, row in enumerate([row for row in log[:existing] if row["at"] >= begin][:killed_behind], start=1):
            run.take(RecordMessage("s", dict(row)))
            if number % every == 0:
                run.take(StateMessage({"bookmarks": {"s": row["at"]}}))
        if killed_behind is None:
            run.end()
        if run.ends:
            count, position = run.ends[-1]
            sent += [row.record for row in run.taken(count)]
    assert sent == log


def test_other_key_properties_are_refused():
    """SNG-05: what is remembered is of no use for them."""
    repeats = Repeats(None, 0)
    repeats.of("s", ("id",)).take({"id": 1, "at": 1}, 1)
    with pytest.raises(DamagedDataError, match="key properties of stream 's' have changed"):
        Repeats(repeats.text(), 0).of("s", ("id", "other"))


@pytest.mark.parametrize(
    "stored",
    [
        "5",
        "{",
        '{"s": 5}',
        '{"s": {"keys": [], "by": [], "partitions": [{"rows": [[1, "%"]]}]}}',
        '{"s": {"keys": [], "by": [], "partitions": [{"rows": [[1, "AAAA"]]}]}}',
    ],
)
def test_an_offset_of_another_form_is_refused(stored):
    """SNG-13: it may have been written by hand."""
    with pytest.raises(DamagedDataError, match="reset the connector's offsets"):
        Repeats(stored, 0)


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


@pytest.mark.parametrize(("before", "after"), [(Decimal, Decimal), (Decimal, float), (float, Decimal)])
@pytest.mark.parametrize("text", ["1700000000.1", "0.30", "12345678901234567890.5"])
def test_a_number_with_a_fraction_is_the_same_key_behind_a_restart(text, before, after):
    """SNG-02: an offset has it as a float, and `decimal.handling.mode` may have been changed."""
    repeats = Repeats(None, 0)
    for kind, seen in ((before, Seen.NEW), (after, Seen.REPEATED)):
        if text == "12345678901234567890.5" and before is not after:
            continue  # other rows, since doubles do not have all of these digits
        key = kind(text)
        assert repeats.of("s").take({"at": key, "price": kind("0.1")}, key) is seen
        repeats = Repeats(repeats.text(), 0)


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


BY_FILE = {"bookmarks": {"s": {"partitions": [{"context": {"file": "a"}, "replication_key_value": 9}]}}}


@pytest.mark.parametrize("before", [5, 50_000])
def test_partitions_have_bookmarks_of_their_own(before):
    """SNG-02: their columns are known from the STATE alone; if it comes too late, nothing passes unnoticed."""
    repeats = Repeats(None, 0)
    old, new = {"file": ["a"], "at": 1}, {"file": "b", "at": 9}
    for row in (old, *[{"file": "b", "at": 8}] * before, new):
        repeats.of("s").take(row, row["at"])
    repeats = Repeats(repeats.text(BY_FILE), 0)
    seen = [repeats.of("s").take(row, row["at"]) for row in (old, new, {"file": "c", "at": 3})]
    assert seen == (
        [Seen.REPEATED, Seen.REPEATED, Seen.NEW] if before == 5 else [Seen.UNKNOWN, Seen.REPEATED, Seen.UNKNOWN]
    )


@pytest.mark.parametrize(
    "state", [None, 5, {}, {"bookmarks": []}, {"bookmarks": {"s": 1}}, {"bookmarks": {"s": {"partitions": [1]}}}]
)
def test_a_state_of_another_form_has_no_partitions(state):
    """SNG-02."""
    assert partition_columns(state, "s") == ()


def test_more_ties_than_an_offset_holds_are_refused():
    """SNG-05: they are not forgotten in silence."""
    repeats = Repeats(None, 0)
    for number in range(45_000):
        assert repeats.of("s").take({"at": 1, "n": number}, 1) is Seen.NEW
    with pytest.raises(DamagedDataError, match=r"45000 rows of stream 's' .* replication key that fewer rows share"):
        repeats.text()


def test_when_a_row_was_extracted_is_no_difference():
    """SNG-02: some taps write that into the row."""
    repeats = Repeats(None, 0)
    repeats.of("s").take({"at": 1, "_sdc_extracted_at": "2024-01-01"}, 1)
    repeats = Repeats(repeats.text(), 0)
    assert repeats.of("s").take({"at": 1, "_sdc_extracted_at": "2024-01-02"}, 1) is Seen.REPEATED
