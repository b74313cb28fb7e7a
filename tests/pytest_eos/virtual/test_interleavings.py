"""Seeds repeat the interleavings of whole workers in virtual time, and many of them find bugs."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.effort import EFFORTS
from tests.pytest_eos.counter import CounterConnector
from tests.pytest_eos.unchecked_ownership import leave_out_check_after_init
from tests.pytest_eos.virtual.virtual_harness import SMALL, eos_harness

from eosfw.state.steps import TRANSACTION, TaskStep

SEEDS = 50
"""Before each merge; many times as many each night."""


def overtaken(eos, step, **properties):
    """A run of two tasks, one of which sleeps before a step; another run takes over with one task; it wakes at once."""
    first = eos.create_run(CounterConnector, {**SMALL, **properties})
    zombie = eos.zombies.task(step, task=1, worker=first.group)
    first.group.put(first.name, first.properties)
    zombie.await_frozen()
    successor = eos.worker(first.group.name)
    second = eos.create_run(CounterConnector, {**first.properties, "tasks.max": 1}, worker=successor)
    successor.put(second.name, second.properties)
    zombie.wake()
    successor.until_drained()
    for group in (first.group, successor):
        group.stop()
    eos.assert_exactly_once(eos.topic(first.topics[0]), second.source_records())


def story(eos):
    """The history without the names of workers, which do not depend on the seed."""
    return [(e.step, e.at, e.task, e.generation, e.transactional_id, e.transaction) for e in eos.history.events()]


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_same_seed_gives_the_same_history(tmp_path, seed):
    """Every step of every task, at the same virtual time, in the same order."""
    stories = []
    for _ in range(2):
        with eos_harness(seed, tmp_path) as eos:
            overtaken(eos, "send")
            stories.append(story(eos))

    assert stories[0] == stories[1]


@EFFORTS
def test_a_zombie_waking_during_its_successors_start_is_harmless_in_many_interleavings(tmp_path, effort):
    """FEN-01..05, FEN-08..10, TXN-02: at every step of a task, wherever its successor stands."""
    steps = tuple(TaskStep)[: len(TaskStep.__members__)]
    steps = steps[: steps.index(TRANSACTION[-1]) + 1]
    fenced = []
    for seed in range(SEEDS * effort):
        with eos_harness(seed, tmp_path) as eos:
            overtaken(eos, steps[seed % len(steps)])
            fenced.append(eos.history.zombies_fenced)

    assert len(fenced) == SEEDS * effort
    assert sum(fenced) > len(fenced) // 4, "hardly any zombie was late enough to be fenced"


@EFFORTS
def test_overlapping_commits_stay_exactly_once_in_many_interleavings(tmp_path, effort):
    """TXN-02, TXN-16: a task polls while its commit is under way, or sleeps before any of its steps."""
    overlapped = 0
    for seed in range(SEEDS * effort):
        with eos_harness(seed, tmp_path) as eos:
            overtaken(eos, TRANSACTION[seed % len(TRANSACTION)], **{"transaction.commit.overlap": "true"})
            lanes = {}
            for event in eos.history.events():
                lanes.setdefault((event.task, event.generation, event.transactional_id), []).append(event.step)
            for steps in lanes.values():
                overlapped += any(pair == (TaskStep.COMMIT, TaskStep.POLL) for pair in pairwise(steps))

    assert overlapped > SEEDS * effort // 4, "hardly any poll began while a commit was under way"


def test_a_missing_check_of_ownership_is_found_by_trying_interleavings(tmp_path, monkeypatch):
    """FEN-09: no step is aimed at but the one before; that both write is chance."""
    leave_out_check_after_init(monkeypatch)
    found = []
    for seed in range(1, 51):
        try:
            with eos_harness(seed, tmp_path) as eos:
                overtaken(eos, "init-producer")
        except AssertionError as why:
            found.append((seed, str(why)))

    assert found
    assert all("duplicates" in why for _, why in found)
    again = found[0][0]
    with pytest.raises(AssertionError, match="duplicates"), eos_harness(again, tmp_path) as eos:
        overtaken(eos, "init-producer")
