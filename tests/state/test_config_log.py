"""Every reader of the config topic gets the same state."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.state.storage.config_log import ConfigLog, ConnectorChanges, ConnectorEntry
from eosfw.state.storage.config_records import (
    ConfigRecord,
    connector_record,
    logger_level_record,
    removal_records,
    restart_record,
    target_state_record,
    task_count_record,
    task_records,
)
from eosfw.state.storage.group_requests import GroupRequests, RestartRequest

SHARE = {"streams": "a"}
DEEP = b"[" * 100_000


def folded(*records: ConfigRecord, log: ConfigLog | None = None) -> ConfigLog:
    log = log or ConfigLog()
    for record in records:
        log.apply(log.position, record.key, record.value)
    return log


def test_records_have_the_bytes_of_connects_json_converter():
    """LOG-02, LOG-03: golden bytes."""
    assert connector_record("flüge", {"a": "ö"}) == ("connector-flüge".encode(), '{"properties":{"a":"ö"}}'.encode())
    assert task_records("c", [SHARE]) == [
        (b"task-c-0", b'{"properties":{"streams":"a"}}'),
        (b"commit-c", b'{"tasks":1}'),
    ]
    assert task_count_record("c", 3) == (b"tasks-fencing-c", b'{"task-count":3}')
    assert removal_records("c") == [(b"connector-c", None), (b"target-state-c", None)]


def test_a_generation_is_null_until_the_first_commit_then_counts_up():
    """LOG-05, LOG-06: each applied commit is a generation, pending until a task count record follows."""
    log = folded(connector_record("c", {}))
    assert (log.entry("c").generation, log.entry("c").pending_fencing) == (None, False)

    folded(*task_records("c", [SHARE]), log=log)
    assert (log.entry("c").generation, log.entry("c").pending_fencing) == (0, True)

    folded(task_count_record("c", 1), log=log)
    assert (log.entry("c").generation, log.entry("c").pending_fencing) == (0, False)

    folded(*task_records("c", []), log=log)
    assert log.entry("c") == ConnectorEntry({}, 1, applied_properties={}, task_count_record=1, pending_fencing=True)

    folded(*task_records("c", []), log=log)
    assert log.entry("c").generation == 2


def test_tasks_take_effect_only_with_their_commit_record():
    """LOG-04: half a set of tasks is never shown."""
    first, second, commit = task_records("c", [SHARE, {"streams": "b"}])
    log = folded(connector_record("c", {}), first, second)
    assert log.entry("c").tasks == ()

    folded(commit, log=log)
    assert log.entry("c").tasks == (SHARE, {"streams": "b"})


def test_a_commit_without_all_its_tasks_makes_the_connector_inconsistent():
    """LOG-04: no tasks are exposed, the generation stays, what was deferred is gone."""
    first, _, commit = task_records("c", [SHARE, SHARE])
    log = folded(connector_record("c", {}), *task_records("c", [SHARE]), first, commit)
    assert (log.entry("c").inconsistent, log.entry("c").tasks, log.entry("c").generation) == (True, (), 0)
    assert log.entry("c").deferred == {}

    folded(*task_records("c", [SHARE]), log=log)
    assert (log.entry("c").inconsistent, log.entry("c").generation) == (False, 1)


def test_tasks_that_compaction_left_of_a_larger_generation_do_no_harm():
    """LOG-04: more tasks than the commit record says are complete."""
    first, second, _ = task_records("c", [SHARE, SHARE])
    log = folded(connector_record("c", {}), first, second, ConfigRecord(b"commit-c", b'{"tasks":1}'))
    assert log.entry("c").tasks == (SHARE,)


def test_a_deleted_connector_keeps_its_task_count_so_that_recreation_fences():
    """LOG-08, LOG-09: what is left of a deleted connector changes nothing; its count stays."""
    log = folded(connector_record("c", {}), *task_records("c", [SHARE] * 3), task_count_record("c", 3))
    folded(*removal_records("c"), *task_records("c", [SHARE]), log=log)
    entry = log.entry("c")
    assert (entry.properties, entry.tasks, entry.generation, entry.task_count_record) == (None, (), 0, 3)
    assert (entry.applied_properties, entry.inconsistent) == (None, False)

    folded(connector_record("c", {}), *task_records("c", [SHARE]), log=log)
    assert (log.entry("c").generation, log.entry("c").pending_fencing, log.entry("c").task_count_record) == (1, True, 3)


def test_properties_apply_with_the_task_configurations_made_from_them():
    """A leader writes both one after the other, and may fail in between (Connect's AppliedConnectorConfig)."""
    log = folded(connector_record("c", {"n": "1"}), *task_records("c", [SHARE]), connector_record("c", {"n": "2"}))
    assert (log.entry("c").properties, log.entry("c").applied_properties) == ({"n": "2"}, {"n": "1"})

    folded(*task_records("c", [SHARE]), log=log)
    assert log.entry("c").applied_properties == {"n": "2"}


def test_the_drafts_task_count_is_read_as_the_released_one():
    """LOG-03: both spellings count."""
    log = folded(
        connector_record("c", {}), *task_records("c", [SHARE]), ConfigRecord(b"tasks-count-c", b'{"tasks":100000}')
    )
    assert (log.entry("c").task_count_record, log.entry("c").pending_fencing) == (100_000, False)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"strange-c", b"{}"),
        (b"\xff", b"{}"),
        (b"", b"{}"),
        (None, b"{}"),
        (None, None),
        (b"x" * 1_000_000, b"{}"),
        (b"evil\nline", b"{}"),
        (b"connector-c", b"no json"),
        (b"connector-c", b"[1]"),
        (b"connector-c", b'{"properties":1}'),
        (b"connector-c", DEEP),
        (b"task-c", b'{"properties":{}}'),
        (b"task-c-x", b'{"properties":{}}'),
        (b"task-c-" + b"9" * 5_000, b'{"properties":{}}'),
        (b"commit-c", b'{"tasks":"1"}'),
        (b"commit-c", b'{"tasks":-1}'),
        (b"commit-c", b'{"tasks":true}'),
        (b"commit-c", b'{"tasks":1000000000}'),
        (b"tasks-fencing-c", b"{}"),
        (b"tasks-fencing-c", b"[]"),
        (b"tasks-fencing-c", b'{"task-count":-1}'),
        (b"tasks-fencing-c", b'{"task-count":"3"}'),
        (b"tasks-fencing-c", b'{"task-count":null}'),
        (b"tasks-fencing-c", b'{"task-count":true}'),
        (b"tasks-fencing-c", b'{"task-count":1.5}'),
        (b"tasks-fencing-c", b'{"task-count":100001}'),
        (b"tasks-fencing-c", b'{"task-count":' + b"9" * 100_000 + b"}"),
        (b"tasks-fencing-c", b'{"task-count":'),
        (b"tasks-fencing-c", DEEP),
        (b"session-key", DEEP),
        (b"target-state-c", b"{}"),
        (b"target-state-c", b'{"state":7}'),
        (b"target-state-c", b'{"state":"FLYING"}'),
        (b"restart-connector-c", None),
        (b"restart-connector-c", b"[]"),
        (b"logger-cluster-x", b"{}"),
    ],
    ids=lambda part: repr(part)[:40],
)
def test_a_malformed_record_is_named_then_skipped(key, value):
    """LOG-02: one malformed record stops no reader and forgets no zombie; its error is one short line."""
    log = folded(connector_record("c", {"a": "1"}), *task_records("c", [SHARE]), task_count_record("c", 2))
    before = log.entry("c")

    problem = log.apply(log.position, key, value)

    assert problem is not None
    assert len(problem) < 400
    assert "\n" not in problem
    assert (log.entry("c"), log.position) == (before, 5)
    assert log.requests.since(0) == GroupRequests()


def test_restart_requests_and_logger_levels_have_the_bytes_of_connect():
    """LOG-02: golden bytes, of target states as well (KIP-875)."""
    assert restart_record(RestartRequest("c", only_failed=True)) == (
        b"restart-connector-c",
        b'{"include-tasks":false,"only-failed":true}',
    )
    assert logger_level_record("a.b", "DEBUG") == (b"logger-cluster-a.b", b'{"level":"DEBUG"}')
    stopped = b"STOPPED".decode()  # another object than the constant, as out of a request
    assert target_state_record("c", stopped) == (b"target-state-c", b'{"state":"PAUSED","state.v2":"STOPPED"}')
    assert target_state_record("c", "PAUSED") == (b"target-state-c", b'{"state":"PAUSED","state.v2":"PAUSED"}')
    assert target_state_record("c", "STARTED") == (b"target-state-c", b'{"state":"STARTED","state.v2":"STARTED"}')


def test_of_several_restart_requests_the_strongest_counts():
    """KIP-745: a request that restarts less does not weaken one that restarts more."""
    weak, strong = RestartRequest("c", only_failed=True), RestartRequest("c", include_tasks=True)
    log = folded(restart_record(strong), restart_record(weak), restart_record(RestartRequest("d")))
    assert log.requests.since(0) == GroupRequests((strong, RestartRequest("d")))
    assert log.requests.since(1) == GroupRequests((weak, RestartRequest("d")))
    assert log.requests.since(3) == GroupRequests()


def test_what_a_restart_request_restarts_decides_how_strong_it_is():
    """KIP-745: of two requests for one connector, in any order, the one that restarts more."""
    weakest_first = [
        RestartRequest("c", only_failed=failed, include_tasks=tasks)
        for failed in (True, False)
        for tasks in (False, True)
    ]
    for weak, strong in combinations(weakest_first, 2):
        for records in permutations([restart_record(weak), restart_record(strong)]):
            assert folded(*records).requests.since(0).restarts == (strong,)

    states = (b"FAILED".decode(), "RUNNING", "DESTROYED")
    assert [[one.restarts_connector(state) for state in states] for one in weakest_first] == [
        [True, False, False],
        [True, False, False],
        [True, True, True],
        [True, True, True],
    ]
    assert [[one.restarts_task(state) for state in states] for one in weakest_first] == [
        [False, False, False],
        [True, False, False],
        [False, False, False],
        [True, True, True],
    ]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (b"{}", RestartRequest("c")),
        (b'{"only-failed":1,"include-tasks":true}', RestartRequest("c", include_tasks=True)),
    ],
)
def test_only_true_makes_a_restart_request_special(value, wanted):
    """KIP-745: what another writer left out, or wrote as no boolean, is false."""
    log = folded(ConfigRecord(b"restart-connector-c", value))
    assert log.requests.since(0) == GroupRequests((wanted,))


def test_a_logger_level_is_asked_for_once():
    """KIP-976: what was asked before a worker started is not asked of it."""
    log = folded(logger_level_record("a", "DEBUG"), logger_level_record("a", "ERROR"))
    assert log.requests.since(1).logger_levels == {"a": "ERROR"}
    assert log.requests.since(2).logger_levels == {}


def test_the_connectors_that_changed_since_a_look_are_listed_in_order():
    log = folded(*(connector_record(name, {}) for name in "abc"))
    first = log.changes_since(0)
    assert first.names == ("a", "b", "c")
    assert log.changes_since(first.version) == ConnectorChanges(first.version, ())

    folded(connector_record("c", {}), *removal_records("a"), log=log)
    second = log.changes_since(first.version)
    assert second.names == ("c", "a")
    assert log.changes_since(second.version).names == ()


@pytest.mark.parametrize(
    ("value", "state"),
    [
        (b'{"state":"PAUSED"}', "PAUSED"),
        (b'{"state":"PAUSED","state.v2":null}', "PAUSED"),
        (b'{"state":"PAUSED","state.v2":"STOPPED"}', "STOPPED"),
        (None, "STARTED"),
    ],
)
def test_target_states_of_older_workers_are_read(value, state):
    """OFF-15: `state.v2` counts where it is a text, else `state`."""
    log = folded(connector_record("c", {}), target_state_record("c", "STOPPED"))
    assert log.apply(log.position, b"target-state-c", value) is None
    assert log.entry("c").target_state == state


def test_a_connector_name_that_ends_like_a_task_key_is_unambiguous():
    """LOG-02: the last dash parts name from number."""
    log = folded(connector_record("c-1", {}), *task_records("c-1", [SHARE]), connector_record("c", {}))
    assert (log.entry("c-1").tasks, log.entry("c").tasks) == ((SHARE,), ())


def test_the_writer_of_a_generation_is_the_writer_of_its_commit_record():
    """A superseded task names the worker that took over."""
    log = folded(connector_record("c", {}))
    log.apply(log.position, *task_records("c", [])[0], writer="w1")
    folded(task_count_record("c", 0), log=log)
    assert log.entry("c").committed_by == "w1"


NAMES = st.sampled_from(["a", "b", "a-1"])
RECORDS = st.lists(
    st.one_of(
        st.builds(lambda n: [connector_record(n, {"x": n})], NAMES),
        st.builds(lambda n, c: task_records(n, [SHARE] * c), NAMES, st.integers(0, 3)),
        st.builds(lambda n, c: task_records(n, [SHARE] * c)[1:], NAMES, st.integers(1, 3)),
        st.builds(lambda n, c: [task_count_record(n, c)], NAMES, st.integers(0, 3)),
        st.builds(removal_records, NAMES),
        st.just([ConfigRecord(b"junk", b"junk")]),
    )
).map(lambda groups: [record for group in groups for record in group])


@given(RECORDS, st.integers(0, 30))
def test_a_replay_of_the_config_log_gives_the_live_state(records, cut):
    """LOG-06: live, replayed, or taken up in the middle: one truth."""
    live = folded(*records)
    resumed = folded(*records[cut:], log=folded(*records[:cut]))

    assert live.connectors() == folded(*records).connectors() == resumed.connectors()


@given(RECORDS)
def test_compaction_keeps_what_the_next_generation_must_know(records):
    """LOG-06, LOG-08: generations may be numbered anew, all else is the same after compaction."""
    latest = {record.key: (place, record) for place, record in enumerate(records)}
    compacted = folded(*(record for _, record in sorted(latest.values())))

    for name, entry in folded(*records).connectors().items():
        kept = compacted.entry(name)
        assert (kept.properties, kept.target_state) == (entry.properties, entry.target_state)
        if entry.task_count_record is not None:
            assert kept.task_count_record == entry.task_count_record
        if entry.pending_fencing and entry.properties is not None and not entry.inconsistent:
            assert replace(kept, generation=None).pending_fencing or kept.inconsistent or kept.generation is None
