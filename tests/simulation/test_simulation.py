"""One seed is one run: the same trace each time, everything judged, nothing left open."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest
from tests.pytest_eos.counter import CounterConnector, CounterTask
from tests.simulation.connectors import PROPERTIES, by_hand, played

from eosfw.observe import TaskStep
from eosfw_memory.storage.topics.topic import Partition
from pytest_eos.simulation.fault_plan import EARLY, KINDS, PlannedFault, draw_plan, parse_token

SEEDS = (3, 10)
"""One with a wrong clock, one with power cuts."""


@pytest.mark.eos_simulation(seeds=4)
def test_every_record_is_there_once_whatever_the_seed_draws(eos):
    """SIM-01: workers are killed, stand still and are cut off, the broker restarts, requests are lost and repeated."""
    run = eos.run(CounterConnector, PROPERTIES)

    assert len(run.source_records()) == 3 * 16


@pytest.mark.nightly
@pytest.mark.eos_simulation(seeds=4_400)
def test_every_record_is_there_once_in_thousands_of_seeds(eos):
    """SIM-01: others each night."""
    eos.run(CounterConnector, PROPERTIES)


# --- the same seed


def test_a_seed_has_the_same_trace_each_time(tmp_path):
    """SIM-02."""
    first, again = (played(draw_plan(SEEDS[0]), tmp_path, keep=True) for _ in range(2))

    assert first.trace.lines == again.trace.lines
    assert first.trace.digest == again.trace.digest


def test_another_seed_has_another_trace(tmp_path):
    """SIM-02."""
    assert len({played(draw_plan(seed), tmp_path).trace.digest for seed in SEEDS}) == len(SEEDS)


def test_a_process_with_another_hash_seed_has_the_same_traces(tmp_path):
    """SIM-02: no order of a set of texts, no address, no name of a host or a process decides anything."""
    here = [played(draw_plan(seed), tmp_path).trace.digest for seed in SEEDS]
    root = Path(__file__).parents[2]

    printed = subprocess.run(
        [sys.executable, "-m", "tests.simulation.print_traces", *map(str, SEEDS)],
        cwd=root,
        env={**os.environ, "PYTHONHASHSEED": "77"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout

    assert printed.split() == here


def test_those_that_wait_for_a_partition_are_woken_in_the_order_in_which_they_came():
    """SIM-02: functions in a set are ordered by where they lie in memory."""
    partition, woken = Partition(Mock()), list[int]()
    for number in range(50):
        partition.subscribe(lambda number=number: woken.append(number))
    partition.changed()

    assert woken == sorted(woken)


# --- what a seed draws


def test_a_plan_is_drawn_from_its_seed_alone():
    """SIM-02: `Random.random` alone, whose numbers are the same in each version of Python."""
    plan = draw_plan(4)

    assert plan == draw_plan(4)
    assert [str(fault) for fault in plan.faults[:2]] == [
        "request Produce no. 4 is lost (no error tells its sender)",
        "request OffsetCommit no. 59 is lost (no error tells its sender)",
    ]


def test_all_kinds_of_faults_are_drawn_and_most_seeds_leave_some_out():
    """SIM-03: a swarm."""
    drawn = [{fault.kind for fault in draw_plan(seed).faults} for seed in range(100)]

    assert set[str]().union(*drawn) == set(KINDS)
    assert sum(len(kinds) <= len(KINDS) // 2 for kinds in drawn) > 30


def test_a_token_keeps_some_of_the_faults_of_a_seed():
    """SIM-04."""
    plan = draw_plan(4)

    kept = parse_token("4:0,1")

    assert list(kept.active.values()) == list(plan.faults[:2])
    assert kept.token == "4:0,1"
    assert parse_token(plan.token) == plan
    with pytest.raises(ValueError, match="faults 0 to"):
        parse_token("4:99")


# --- faults that happen


@pytest.mark.parametrize(
    ("fault", "reached"),
    [
        (PlannedFault("crash", "any", 5, 3.0, step="commit"), None),
        (PlannedFault("pause", "any", 5, 75.0, step="send-offsets"), TaskStep.FENCED),
        (PlannedFault("take-over", "any", 5, 15.0, "1", step="begin"), TaskStep.FENCE_ZOMBIES),
        (PlannedFault("partition", "any", 5, 15.0, "answers", step="commit"), None),
        (PlannedFault("partition", "any", 2, 15.0, "workers", step="request-fencing"), None),
        (PlannedFault("clock", "a", 1, 15.0, "-5400"), None),
        (PlannedFault("reconfigure", "a", 400, 0.0, "2"), TaskStep.FENCE_ZOMBIES),
        (PlannedFault("broker-restart", "after-prepare", 9, 3.0), None),
        (PlannedFault("lose", "EndTxn", 6), TaskStep.INIT_PRODUCER),
        (PlannedFault("disk-full", "write", 30, 3.0, EARLY), None),
    ],
    ids=lambda given: given.kind if isinstance(given, PlannedFault) else "",
)
def test_a_fault_happens_and_the_run_is_right_all_the_same(tmp_path, fault, reached):
    """SIM-01, SIM-03."""
    found = played(by_hand(fault), tmp_path)

    assert found.failure is None
    assert found.fired == {0}
    assert reached is None or reached in {event.step for event in found.harness.history.events()}


def test_a_killed_worker_says_nothing_and_is_started_again(tmp_path):
    """SIM-03: its open transaction stays open until it times out or a successor fences it."""
    found = played(by_hand(PlannedFault("crash", "a", 300, 3.0)), tmp_path)

    killed = found.harness.group.simulated["a"]
    assert found.failure is None
    assert killed.starts == 2
    assert {found.harness.group.simulated[name].starts for name in "bc"} == {1}


def test_what_is_to_happen_to_a_worker_happens_although_it_is_killed_before(tmp_path):
    """SIM-03: yield points are counted over all of its starts."""
    faults = PlannedFault("crash", "a", 300, 0.5), PlannedFault("pause", "a", 500, 0.5)

    assert played(by_hand(*faults), tmp_path).fired == {0, 1}


class SleepyConnector(CounterConnector):
    name = "sleepy"

    class Task(CounterTask):
        def poll(self):
            time.sleep(4)
            return super().poll()

    task = Task


def test_a_source_that_sleeps_in_its_poll_sleeps_in_virtual_time(tmp_path):
    """SIM-02: `time.sleep` is a yield point, and costs nothing."""
    found = played(by_hand(poll_seconds=0.0), tmp_path, lambda eos: eos.run(SleepyConnector, PROPERTIES))

    assert found.failure is None
    assert found.harness.runtime.now() > 8 * 4
