"""Whole workers in virtual time: timeouts cost nothing, seeds repeat interleavings, bugs are found by trying many."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from itertools import pairwise

import pytest
from tests.pytest_eos.counter import CounterConnector, CounterTask

from eosfw.errors import ConfigError
from eosfw.records import SourceBatch
from eosfw.runtime.tasks.loop import IDLE_PAUSE
from eosfw.runtime.tasks.startup import TaskStartup
from eosfw.state.steps import TRANSACTION, TaskStep
from pytest_eos.environment.clusters.cluster import virtual
from pytest_eos.harness import EosHarness
from pytest_eos.runs.groups.worker_harness import HarnessSettings

TIMEOUT = 60.0
SWEEP = 10.0
"""How often the coordinator looks for transactions beyond their timeout."""
SMALL = {"streams": 2, "until": 6, "batch": 2, "tasks.max": 2}
SEEDS = range(1, 101)


@contextmanager
def eos_harness(seed, tmp_path):
    """A harness of its own for each seed."""
    with (
        virtual(seed) as cluster,
        EosHarness(cluster, "memory", HarnessSettings("test", tmp_path, seed or 0, TIMEOUT)) as eos,
    ):
        yield eos


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


# --- time


def test_a_transaction_that_outlives_its_timeout_is_aborted_without_a_real_second(eos):
    """COR-15: the coordinator's own look, then the task, still the owner, starts over from what committed."""
    run = eos.create_run(CounterConnector, SMALL)
    zombie = eos.zombies.task("commit", nth=2)
    run.group.put(run.name, run.properties)
    zombie.await_frozen()
    now = eos.runtime.now()
    held = {one.transactional_id for one in eos.cluster.local.open_transactions()}

    eos.runtime.sleep(TIMEOUT + SWEEP)

    assert zombie.freeze.event.transactional_id in held
    assert not eos.cluster.local.open_transactions()
    zombie.wake()
    run.group.until_drained()
    run.group.stop()
    assert zombie.fenced is False  # it met the error of a fencing, yet nobody had replaced it
    assert any(e.step is TaskStep.FENCED for e in eos.history.events())
    assert eos.runtime.now() - now > TIMEOUT
    eos.assert_exactly_once(run, run.source_records())


class Silent(CounterConnector):
    """Has nothing to give, and does not know whether it ever will."""

    name = "silent"

    class Task(CounterTask):
        def poll(self):
            return []

        def at_end(self):
            return self.answer

        answer = None

    task = Task


class Waiting(Silent):
    """Has nothing to give, and says that there will be more."""

    name = "waiting"

    class Task(Silent.Task):
        answer = False

    task = Task


def test_a_source_that_gives_nothing_counts_as_drained_by_virtual_seconds(eos):
    """Idle for 5 s of the clock that everybody lives by."""
    now = eos.runtime.now()

    run = eos.run(Silent)

    assert 5 <= eos.runtime.now() - now < TIMEOUT
    assert run.source_records() == []


def test_an_endless_wait_fails_after_the_virtual_timeout(eos):
    """Virtual time must not run away with a test, nor hang it."""
    now = eos.runtime.now()

    with pytest.raises(pytest.fail.Exception, match=r"^waited 60 virtual seconds in vain for a drained run: "):
        eos.run(Waiting)

    assert TIMEOUT <= eos.runtime.now() - now < 2 * TIMEOUT


class Unsure(CounterConnector):
    """Does not know whether it will ever have more."""

    name = "unsure"

    class Task(CounterTask):
        def at_end(self):
            return None

    task = Task


@pytest.mark.parametrize("request_kind", ["Produce", "AddPartitionsToTxn", "EndTxn"])
def test_an_answer_slower_than_the_idle_time_does_not_end_the_stream(eos, request_kind):
    """What is under way is no idleness; every number still to come is read, too."""
    if request_kind == "AddPartitionsToTxn":  # which version 2 of transactions does without (KIP-890)
        eos.worker(producer_eosfw_transaction_version=1)
    slow = eos.cluster.local.faults.add("delay", request=request_kind, nth=6, seconds=20.0)

    run = eos.run(Unsure, SMALL)

    assert slow.fired
    assert len(eos.topic(run.topics[0]).values()) == SMALL["streams"] * SMALL["until"]


def test_a_fencing_that_fails_for_minutes_is_asked_for_until_it_succeeds(eos):
    """FEN-08: each round gives up after 90 s; the tasks ask again, and nobody restarts them."""
    first = eos.create_run(CounterConnector, {**SMALL, "until": 2})
    first.group.put(first.name, first.properties)
    first.group.until_drained()
    busy = eos.cluster.local.faults.add(
        "fail", request="InitProducerId", code="CONCURRENT_TRANSACTIONS", times=2**31 - 1
    )
    now = eos.runtime.now()
    second = eos.create_run(CounterConnector, {**first.properties, **SMALL}, worker=first.group)
    first.group.put(second.name, second.properties)
    eos.runtime.sleep(300.0)
    waiting = [task.waiting for task in first.group.worker.status().tasks]
    eos.cluster.local.faults.remove(busy)
    first.group.until_drained()

    assert all("the task starts again after" in why for why in waiting)
    assert eos.runtime.now() - now > 300
    eos.assert_exactly_once(eos.topic(first.topics[0]), second.source_records())


def test_a_source_with_occasional_records_is_not_drained_in_between(eos):
    """Each poll with records starts the idle time anew."""

    class Slow(Unsure.Task):
        def poll(self):
            eos.runtime.sleep(4.0)
            return super().poll()

    class Connector(Unsure):
        name, task = "slow", Slow

    run = eos.run(Connector, {**SMALL, "batch": 1, "tasks.max": 1})

    assert len(eos.topic(run.topics[0]).values()) == SMALL["streams"] * SMALL["until"]


@pytest.mark.parametrize(("step", "lasts"), [(1, "less"), (0, "more")], ids=["moving", "standing"])
def test_a_source_that_skips_records_is_polled_without_a_pause(eos, step, lasts):
    """Empty batches that move are progress; one that stands still leaves its task a rest."""
    polls = 60

    class Passing(CounterTask):
        polled = 0

        def poll(self):
            if self.at_end():
                return None
            self.polled += 1
            return SourceBatch(self.topic, [], {"stream": "s0"}, {"next": self.polled * step})

        def at_end(self):
            return self.polled == polls

    class Connector(CounterConnector):
        name, task = "passing", Passing

    now = eos.runtime.now()
    eos.run(Connector, {"streams": 1})

    assert (eos.runtime.now() - now < polls * IDLE_PAUSE / 2) is (lasts == "less")


@pytest.mark.parametrize(
    ("properties", "busy"),
    [({}, 1.0), ({"transaction.boundary": "interval", "transaction.boundary.interval.ms": "20000"}, 20.0)],
    ids=["nothing to commit", "records to commit until the interval ends"],
)
def test_a_source_that_stays_empty_is_polled_less_and_less_often(eos, properties, busy):
    """At least once a second; ten times a second at first, and while a transaction waits for its boundary."""
    polls = []

    class Empty(CounterTask):
        def poll(self):
            polls.append(eos.runtime.now())
            return super().poll()

        def at_end(self):
            return super().at_end() and eos.runtime.now() > polls[0] + 50

    class Connector(CounterConnector):
        name, task = "empty", Empty

    run = eos.run(Connector, {**SMALL, "tasks.max": 1, **properties})

    assert len(eos.topic(run.topics[0]).values()) == SMALL["streams"] * SMALL["until"]
    pauses = [(after - polls[0], after - before) for before, after in pairwise(polls)]
    assert max(pause for at, pause in pauses if at < busy) < 1.5 * IDLE_PAUSE
    assert max(pause for _, pause in pauses) < 1.1
    assert sum(at > 30 for at, _ in pauses) < 25


@pytest.mark.parametrize("waits", [0.0, 0.6, 1.0, 1.5])
def test_a_poll_that_waits_for_records_itself_is_followed_by_less_of_a_pause(eos, waits):
    """At most a second between two polls, and no pause at all behind one that waits for a second."""
    polls, ends = [], []

    class Waiting(CounterTask):
        def poll(self):
            polls.append(eos.runtime.now())
            eos.runtime.sleep(waits)
            ends.append(eos.runtime.now())

        def at_end(self):
            return eos.runtime.now() > polls[0] + 50

    class Connector(CounterConnector):
        name, task = "waiting", Waiting

    eos.run(Connector, {"streams": 1})

    pause = max(after - end for end, after in zip(ends, polls[1:], strict=False))
    assert pause == pytest.approx(max(0.0, 1.0 - waits), abs=0.05)


def test_an_interrupt_that_hits_a_task_reaches_the_user(eos):
    """Everybody is on the main thread, so Ctrl-C may land in a connector."""

    class Interrupted(CounterTask):
        def poll(self):
            raise KeyboardInterrupt

    class Connector(CounterConnector):
        name, task = "interrupted", Interrupted

    with pytest.raises(KeyboardInterrupt):
        eos.run(Connector)


# --- chance


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_same_seed_gives_the_same_history(tmp_path, seed):
    """Every step of every task, at the same virtual time, in the same order."""
    stories = []
    for _ in range(2):
        with eos_harness(seed, tmp_path) as eos:
            overtaken(eos, "send")
            stories.append(story(eos))

    assert stories[0] == stories[1]


def test_a_zombie_waking_during_its_successors_start_is_harmless_in_many_interleavings(tmp_path):
    """FEN-01..05, FEN-08..10, TXN-02: at every step of a task, wherever its successor stands."""
    steps = tuple(TaskStep)[: len(TaskStep.__members__)]
    steps = steps[: steps.index(TRANSACTION[-1]) + 1]
    fenced = []
    for seed in SEEDS:
        with eos_harness(seed, tmp_path) as eos:
            overtaken(eos, steps[seed % len(steps)])
            fenced.append(eos.history.zombies_fenced)

    assert len(fenced) == len(SEEDS)
    assert sum(fenced) > len(SEEDS) // 4, "hardly any zombie was late enough to be fenced"


def test_overlapping_commits_stay_exactly_once_in_many_interleavings(tmp_path):
    """TXN-02, TXN-16: a task polls while its commit is under way, or sleeps before any of its steps."""
    overlapped = 0
    for seed in SEEDS:
        with eos_harness(seed, tmp_path) as eos:
            overtaken(eos, TRANSACTION[seed % len(TRANSACTION)], **{"transaction.commit.overlap": "true"})
            lanes = {}
            for event in eos.history.events():
                lanes.setdefault((event.task, event.generation, event.transactional_id), []).append(event.step)
            for steps in lanes.values():
                overlapped += any(pair == (TaskStep.COMMIT, TaskStep.POLL) for pair in pairwise(steps))

    assert overlapped > len(SEEDS) // 4, "hardly any poll began while a commit was under way"


def test_a_missing_check_of_ownership_is_found_by_trying_interleavings(tmp_path, monkeypatch):
    """FEN-09: no step is aimed at but the one before; that both write is chance."""
    checked = TaskStartup._refuse_unless_owner

    def unless_after_init(self, *check):
        if self._recorder.snapshot().step is not TaskStep.CHECK_OWNERSHIP:
            checked(self, *check)

    monkeypatch.setattr(TaskStartup, "_refuse_unless_owner", unless_after_init)
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


# --- nothing is left


def sockets():
    """Open sockets of this process."""
    links = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except FileNotFoundError:  # the one that lists them
            continue
    return sorted(link for link in links if link.startswith("socket:"))


def test_no_thread_and_no_socket_is_opened_or_left(tmp_path):
    """Goal: everything on one thread, without a port. What earlier tests left may end meanwhile."""
    threads, before = set(threading.enumerate()), set(sockets())
    seen = []

    class Spying(CounterTask):
        def poll(self):
            seen.append((set(threading.enumerate()) - threads, set(sockets()) - before))
            return super().poll()

    class Spy(CounterConnector):
        name, task = "spy", Spying

    with eos_harness(1, tmp_path) as eos:
        eos.run(Spy, SMALL)

    assert seen
    assert all(added == (set(), set()) for added in seen)
    assert (set(threading.enumerate()) - threads, set(sockets()) - before) == (set(), set())


def test_processes_for_tasks_are_refused_in_a_test_and_left_out_of_a_pipeline_that_is_tested(tmp_path):
    """A test freezes tasks in its own process."""
    connector = {"connector.class": CounterConnector, "topic": "counted", **SMALL}
    with eos_harness(1, tmp_path) as eos:
        with pytest.raises(ConfigError, match="is for `eosfw run`: in a test, tasks share the process of the test"):
            eos.worker(task_isolation="process")
        run = eos.run_pipeline({"worker": {"task.isolation": "process"}, "connectors": {"c": connector}})
        eos.assert_exactly_once(eos.topic("counted"), run.connector().source_records(), key="headers")


@pytest.mark.filterwarnings("error")
def test_a_leftover_of_a_test_is_stopped_and_reported(tmp_path):
    """A greenlet that is not ended would keep its resources."""
    with (
        pytest.warns(pytest.PytestWarning, match="ended with the virtual clock: forgotten"),
        eos_harness(1, tmp_path) as eos,
    ):
        eos.runtime.spawn("forgotten", eos.runtime.event().wait)
