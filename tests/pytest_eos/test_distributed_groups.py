"""Groups of several workers through the fixtures of pytest-eos: zombies of the leader and of whole workers."""

from __future__ import annotations

import re
import threading
from fnmatch import fnmatch

import pytest
from tests.child_pytest import WITHOUT_PLUGINS

from eosfw.observe import LEADER, TaskStep
from eosfw_file.connector import FileSourceConnector

pytest_plugins = ("pytester",)

LINES = 400


@pytest.fixture
def group(eos):
    """Three workers, whose lost tasks wait for nobody."""
    return eos.distributed(scheduled_rebalance_max_delay_ms=0)


@pytest.fixture
def run(eos, group, tmp_path):
    """A connector with three tasks on the group; a poll takes 100 ms."""
    runtime = eos.runtime

    class Task(FileSourceConnector.task):
        def poll(self):
            runtime.sleep(0.1)
            return super().poll()

    class Connector(FileSourceConnector):
        name = "slow"
        task = Task

    for name in "abc":
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} {number}\n" for number in range(LINES)))
    properties = {"file": f"{tmp_path}/*.txt", "batch.size": 5, "tasks.max": 3}
    return eos.create_run(Connector, properties, worker=group)


def test_a_group_writes_every_record_once(eos, group, run):
    """Its history is that of the test."""
    group.put(run.name, run.properties)

    group.until_drained()

    assert len(run.source_records()) == 3 * LINES
    eos.assert_exactly_once(run, expected=run.source_records())
    assert eos.history.records == 3 * LINES
    assert {len(group.running(name)) for name in group.workers} == {1}


def test_a_group_is_not_drained_before_new_properties_made_their_tasks(eos, group, tmp_path):
    """The leader asks the connector for its tasks after `put` has returned; until then the earlier ones run."""
    may_answer = threading.Event()

    class Connector(FileSourceConnector):
        name = "thoughtful"

        def task_configs(self, *arguments):
            # The leader's own thread asks for the tasks that will run.
            if threading.current_thread() is not threading.main_thread():
                may_answer.wait(30)
            return super().task_configs(*arguments)

    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"{name}\n")
    properties = {"file": f"{tmp_path}/*.txt", "tasks.max": 1}
    may_answer.set()
    run = eos.create_run(Connector, properties, worker=group)
    group.put(run.name, run.properties)
    group.until_drained()
    may_answer.clear()

    group.put(run.name, {**run.properties, "tasks.max": 2})

    assert not group.drained(0.0)
    may_answer.set()
    group.until_drained()
    assert {task.id.task for task in group.tasks()} == {0, 1}


@pytest.mark.parametrize("step", LEADER, ids=lambda step: step.value)
def test_a_leader_zombie_adds_nothing_and_takes_nothing(eos, zombies, group, run, step):
    """SCN-01: frozen with its whole worker, replaced, woken."""
    group.put(run.name, run.properties)
    group.until_all_run()
    sleeper = zombies.leader(group, step)
    if step is TaskStep.CLAIM_LEADERSHIP:
        group.kill(group.leader())
    else:
        group.put(run.name, {**run.properties, "tasks.max": 2})

    sleeper.await_frozen().await_successor()
    group.put(run.name, {**run.properties, "tasks.max": 1})
    group.until_drained()
    sleeper.wake().await_end()

    group.put(run.name, {**run.properties, "tasks.max": 3})
    group.until_drained()
    assert group.leader() != sleeper.worker
    if step is TaskStep.PUBLISH_ASSIGNMENT:  # before others it reads first, and sees that it leads no more
        group.until(lambda: sleeper.fenced, "the refusal of its write")
    eos.assert_exactly_once(run, expected=run.source_records())


@pytest.mark.parametrize("whom", ["leader", "follower"])
def test_a_worker_zombie_adds_nothing_and_takes_nothing(eos, zombies, group, run, whom):
    """SCN-01: its tasks end as soon as it wakes, fenced or because the group went on without them."""
    group.put(run.name, run.properties)
    group.until_all_run()
    leader = group.leader()
    victim = leader if whom == "leader" else next(name for name in group.workers if name != leader)

    sleeper = zombies.worker(group, victim).await_successor()
    sleeper.wake().await_end()

    group.until_drained()
    assert sleeper.tasks
    assert sleeper.rose
    eos.assert_exactly_once(run, expected=run.source_records())


PREAMBLE = """
import pytest

@pytest.fixture
def group(eos, tmp_path):
    (tmp_path / "a.txt").write_text("a\\nb\\n")
    group = eos.distributed(workers=2, scheduled_rebalance_max_delay_ms=0)
    group.put("file", {"connector.class": "file", "file": tmp_path / "a.txt", "topic": "t"})
    group.until_drained()
    return group
"""


UNPROVEN = {
    "zombies.leader(group, 'write-task-count')": "*never rose: nobody was caught*",
    "zombies.worker(group, group.leader()).wake()": "*never rose: `await_successor` was not called*",
    "zombies.worker(group, group.leader()).await_successor()": "*was never woken: worker ? of group*",
    "zombies.leader(group, 'fence-zombi')": (
        "*a leader has no step 'fence-zombi' to freeze at; did you mean 'fence-zombies'*"
    ),
}


def test_a_zombie_that_never_rose_fails_the_test(pytester):
    """A test that shows nothing must not pass."""
    tests = (f"def test_{number}(group, zombies):\n    {body}\n" for number, body in enumerate(UNPROVEN))
    pytester.makepyfile("\n\n".join([PREAMBLE, *tests]))

    result = pytester.runpytest_subprocess(*WITHOUT_PLUGINS)

    result.assert_outcomes(failed=len(UNPROVEN))
    # One report after the other, without the summary behind them.
    reports = re.split(r"^_+ test_\d _+$|^=+ eos =+$", "\n".join(result.outlines), flags=re.MULTILINE)[1:-1]
    pairs = zip(reports, UNPROVEN.values(), strict=True)
    assert [complaint for report, complaint in pairs if not fnmatch(report, complaint)] == []


@pytest.mark.eos_zombie(at=["init-producer", "commit"])
def test_the_marker_freezes_tasks_in_groups_too(eos, group, run):
    """What works with one worker works with three."""
    eos.run("slow", run.properties, worker=group)

    eos.assert_exactly_once(eos.last_run, expected=eos.last_run.source_records())


@pytest.mark.parametrize("workers", [0, -1, 27])
def test_a_group_has_a_worker_and_no_more_than_there_are_names(eos, workers):
    """Bad input: a test would wait for tasks that nobody runs, or count workers that never started."""
    with pytest.raises(ValueError, match=rf"a group of {workers} workers: it must have 1 to 26, `a` to `z`"):
        eos.distributed(workers)


@pytest.mark.parametrize("call", ["leader", "worker"])
def test_a_single_worker_has_no_leader_to_freeze(eos, zombies, call):
    """Bad input: refused by what is to be passed."""
    at = {"leader": "write-task-configs", "worker": "a"}[call]

    with pytest.raises(TypeError, match=rf"zombies\.{call} takes a group, as `eos\.distributed` returns it"):
        getattr(zombies, call)(eos.worker(), at)
