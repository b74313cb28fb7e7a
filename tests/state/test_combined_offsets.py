"""A connector's own offsets topic wins over the worker's, key by key, and neither brings a forgotten offset back."""

from __future__ import annotations

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.records import LogBatch
from eosfw.state.storage.combined_offsets import combine_offsets, plan_offset_writes, stale_offsets
from eosfw.state.storage.offset_topics import TopicOnCluster, disagreeing_servers, same_offsets_topic, server_set

STORE = KafkaOffsetStore()
DECODE = partial(STORE.decode, "reddit-source")


def subreddit(name: str) -> dict[str, str]:
    return {"subreddit": name}


def record_key(name: str) -> bytes:
    return json.dumps(["reddit-source", subreddit(name)], separators=(",", ":")).encode()


def topic(*records: tuple[str, str | None], at: int = 0) -> list[LogBatch]:
    """Records of subreddits with their timestamps (None forgets), `at` milliseconds after the epoch and on."""
    values = [None if offset is None else json.dumps({"timestamp": offset}).encode() for _, offset in records]
    numbers = list(range(len(records)))
    times = [at + number for number in numbers]
    return [LogBatch("t", 0, numbers, [record_key(name) for name, _ in records], values, times)] if records else []


def seen(own: list[LogBatch], worker: list[LogBatch]) -> dict[str, str]:
    found = combine_offsets(DECODE, own, worker).offsets().values()
    return {partition["subreddit"]: offset["timestamp"] for partition, offset in found}


def test_the_example_of_the_proposal_is_combined_as_it_says():
    """OFF-08: 4761 from the worker's topic, 2169 and 489 from the connector's own."""
    worker = topic(("apachekafka", "4761"), ("CatsStandingUp", "2112"))
    own = topic(("CatsStandingUp", "2169"), ("grilledcheese", "489"))

    assert seen(own, worker) == {"apachekafka": "4761", "CatsStandingUp": "2169", "grilledcheese": "489"}


def test_a_null_in_the_own_topic_hides_a_copy_in_the_workers_topic():
    """OFF-10: a late copy, or a crash between the two topics, must not undo a reset."""
    found = combine_offsets(DECODE, topic(("a", "1"), ("a", None)), topic(("a", "1"), ("b", "2")))

    assert [partition["subreddit"] for partition, _ in found.offsets().values()] == ["b"]
    assert found.hidden == [record_key("a")]


def test_a_key_deleted_from_the_workers_topic_is_not_reported_as_hidden():
    """OFF-10: there is nothing left to delete."""
    assert combine_offsets(DECODE, topic(("a", None)), topic(("a", "1"), ("a", None))).hidden == []


NAMES = st.sampled_from("abc")
RECORDS = st.lists(st.tuples(NAMES, st.one_of(st.none(), st.integers(0, 9).map(str))), max_size=8)


@given(RECORDS, RECORDS)
def test_each_key_is_read_from_the_first_topic_that_has_a_record_for_it(own, worker):
    """OFF-08, OFF-10: the connector's own, then the worker's; a null is a record like any other."""
    model = {**dict(worker), **dict(own)}

    assert seen(topic(*own), topic(*worker)) == {name: value for name, value in model.items() if value is not None}


# --- the order of writes


def planned(changes: dict[str, str | None], own: set[str]) -> tuple[list[str], list[str], list[str]]:
    keys = {STORE.partition_key(subreddit(name)) for name in own}
    plan = plan_offset_writes(
        [(subreddit(n), None if v is None else {"timestamp": v}) for n, v in changes.items()], STORE.partition_key, keys
    )
    before, after, late = (
        [one["subreddit"] for one, _ in part] for part in (plan.before, plan.after, plan.forgotten_after)
    )
    return before, after, late


def test_each_change_is_written_to_the_workers_topic_on_one_side_of_the_commit():
    """OFF-10: copies behind it, forgotten offsets before it if the connector's own topic has them."""
    assert planned({"a": "1", "b": None, "c": None}, {"b"}) == (["b"], ["a"], ["c"])


@given(
    RECORDS,
    st.lists(
        st.tuples(NAMES, st.one_of(st.none(), st.integers(0, 9).map(str))),
        min_size=1,
        max_size=3,
        unique_by=lambda change: change[0],
    ),
    RECORDS,
    st.integers(0, 3),
    st.booleans(),
)
def test_a_crash_between_any_two_writes_leaves_the_offsets_before_or_after(own, changes, worker, steps, compacted):
    """OFF-10, F41: from a state that earlier commits left, wherever the writes stop."""
    own_before = dict(own)
    worker_before = {**dict(worker), **dict(own_before.items())}
    own_keys = {name for name, value in own_before.items() if value is not None}
    before, after, late = planned(dict(changes), own_keys)
    mine, shared = dict(own_before), dict(worker_before)
    writes = [
        lambda: shared.update(dict.fromkeys(before)),
        lambda: mine.update(dict(changes)),
        lambda: shared.update({name: dict(changes)[name] for name in (*after, *late)}),
    ]
    was = seen(topic(*mine.items()), topic(*shared.items()))
    for write in writes[:steps]:
        write()
    if compacted and steps in (0, 1, 3):  # compaction takes nulls away; between commit and copy it has no time to
        mine = {name: value for name, value in mine.items() if value is not None}
        shared = {name: value for name, value in shared.items() if value is not None}

    will_be = {name: value for name, value in {**was, **dict(changes)}.items() if value is not None}
    assert seen(topic(*mine.items()), topic(*shared.items())) == (will_be if steps >= 2 else was)


# --- which topic, which cluster


@pytest.mark.parametrize(
    ("name", "servers", "same"),
    [
        ("offsets", "", True),
        ("offsets", "b:2, A:1", True),
        ("offsets", "a:1", False),
        ("offsets", "c:3", False),
        ("other", "", False),
        ("alien", "", False),
        ("other", "a:1,b:2", False),
    ],
)
def test_two_offsets_topics_are_one_if_name_and_servers_are_equal(name, servers, same):
    """OFF-07: the order of the servers means nothing; no servers are the worker's."""
    worker = TopicOnCluster("OFFSETS".lower(), server_set("a:1,b:2"))

    assert same_offsets_topic(TopicOnCluster(name, server_set(servers)), worker) is same


def test_clients_disagree_unless_all_name_the_same_servers():
    """OFF-06."""
    assert disagreeing_servers({"p": None, "c": None, "a": None}) == []
    assert disagreeing_servers({"p": "a:1,b:2", "c": "b:2,a:1", "a": "a:1"}) == ["a"]
    assert disagreeing_servers({"p": "a:1", "c": None, "a": "a:1,b:2"}) == ["c", "a"]


# --- a stale topic


def test_an_offset_that_moved_on_in_the_workers_topic_alone_is_stale():
    """UPG-04: older software knows only the worker's topic."""
    own = topic(("a", "1"), ("a", "2"), ("b", "5"), at=100)
    worker = topic(("a", "2"), ("b", "5"), ("a", "3"), at=200)

    (found,) = stale_offsets(DECODE, own, worker)
    assert (found.partition, found.own, found.worker) == (subreddit("a"), {"timestamp": "2"}, {"timestamp": "3"})


@pytest.mark.parametrize(
    ("worker", "at"),
    [
        ([("a", "1")], 200),
        ([("a", "2")], 200),
        ([("a", "0")], 0),
        ([("a", "0")], 101),
        ([("a", None)], 200),
        ([("b", "9")], 200),
    ],
)
def test_a_copy_is_never_stale(worker, at):
    """UPG-04: late, current, not newer than what compaction left, deleted, or of a key that falls back."""
    assert stale_offsets(DECODE, topic(("a", "1"), ("a", "2"), at=100), topic(*worker, at=at)) == []
