"""A zombie at every step, over every backend: nothing twice, nothing missing, the zombie fenced or stopped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.pytest_eos.counter import CounterConnector
from tests.pytest_eos.unchecked_ownership import leave_out_check_after_init

from eosfw.runtime.fencing.leader import Leader
from eosfw.state.fencing.task_ownership import TaskOwnership
from eosfw.state.steps import TRANSACTION, TaskStep
from pytest_eos.environment.clusters.cluster import Cluster, serving, virtual
from pytest_eos.environment.config.options import SETTINGS

WORLDS = {
    "memory": ("memory", "virtual"),
    "memory-threads": ("memory", None),
    "memory-socket": ("memory", "socket"),
    "confluent": ("confluent", None),
    "confluent-kafka": ("confluent", "real_kafka"),
    "kafka-python": ("kafka-python", None),
    "kafka-python-kafka": ("kafka-python", "real_kafka"),
    "memory-kafka": ("memory", "real_kafka"),
}
BEFORE_A_MERGE = {"memory", "confluent", "confluent-kafka", "kafka-python"}


def marks_of(name):
    """Before a merge each client on the embedded broker, one on a real Kafka; each night the rest."""
    kafka = [pytest.mark.kafka] if WORLDS[name][1] == "real_kafka" else []
    return kafka if name in BEFORE_A_MERGE else [*kafka, pytest.mark.nightly]


PROPERTIES = {"streams": 3, "until": 20}
MANY = {**PROPERTIES, "tasks.max": 2}


@pytest.fixture(params=[pytest.param(name, marks=marks_of(name)) for name in WORLDS])
def world(request):
    return WORLDS[request.param]


@pytest.fixture
def eos_backend(world):
    return world[0]


@pytest.fixture
def eos_cluster(request, world):
    """In the place of the plugin's own: embedded, in virtual or real time, or a real Kafka."""
    _, where = world
    if where == "virtual":
        with virtual(f"{request.config.stash[SETTINGS].seed} {request.node.nodeid}") as cluster:
            yield cluster
    elif where == "real_kafka":
        yield Cluster(request.getfixturevalue("real_kafka"))
    else:
        with serving() as cluster:
            yield replace(cluster, properties={"eosfw.transport": where} if where else {})


@pytest.mark.eos_zombie(at="all")
def test_a_task_that_sleeps_at_any_step_adds_nothing_and_takes_nothing(eos):
    """FEN-01..05, FEN-08..10, SCN-03, SCN-06, TXN-02: replaced with one task less (partitions move), then woken."""
    run = eos.run(CounterConnector, PROPERTIES)

    eos.assert_exactly_once(run, run.source_records())
    (zombie,) = eos.zombies.made
    assert zombie.rose
    writing = zombie.freeze.event.step in TRANSACTION[1:]
    assert zombie.fenced or not writing


def two_runs(eos, step):
    """A whole run sleeps, another takes the group over; the first wakes while the second is half way."""
    first = eos.create_run(CounterConnector, MANY)
    zombie = eos.zombies.task(step, task=1, worker=first.group, nth=2 if TaskStep(step) in TRANSACTION else 1)
    first.group.put(first.name, first.properties)
    zombie.await_frozen()

    worker = eos.worker(first.group.name)
    second = eos.create_run(CounterConnector, {**first.properties, "tasks.max": 1}, worker=worker)
    half_way = eos.zombies.task("poll", nth=3, worker=worker)
    worker.put(second.name, second.properties)
    half_way.await_frozen()
    zombie.wake()
    eos.waiter.until(lambda: ended(zombie) or wrote(zombie), "what the zombie does")
    stopped_by_itself = ended(zombie)
    half_way.wake()
    worker.until_drained()
    for group in (first.group, worker):
        group.stop()
    return eos.topic(first.topics[0]), second.source_records(), stopped_by_itself


def ended(zombie):
    last = zombie._group.history.last_steps()[zombie.lane].step
    return last in (TaskStep.SUPERSEDED, TaskStep.STOPPED, TaskStep.FAILED)


def wrote(zombie):
    """Whether it committed something after it woke."""
    woken = zombie.freeze.until or float("inf")
    committed = [e for e in zombie._group.history.events() if e.step is TaskStep.COMMITTED and e.at > woken]
    return any(event.task.task == zombie.lane.task for event in committed)


@pytest.mark.parametrize("step", ["init-producer", "read-config", "check-ownership", "read-offsets", "send", "commit"])
def test_a_run_that_sleeps_at_a_step_stops_when_it_finds_another(eos, step):
    """FEN-09: it gets no stop request; its own checks or the coordinator stop it."""
    written, expected, stopped_by_itself = two_runs(eos, step)

    eos.assert_exactly_once(written, expected)
    assert stopped_by_itself


# --- switches that exist here alone: each takes one protection away, and the same scenario must notice


ONE_IS_ENOUGH = pytest.mark.parametrize("world", [WORLDS["memory"]], ids=["memory"])


@ONE_IS_ENOUGH
def test_without_the_task_count_record_the_matrix_fails(eos, monkeypatch):
    """FEN-05: who does not know how many tasks there were fences too few."""
    monkeypatch.setattr(Leader, "_write_task_count", lambda *_: None)
    monkeypatch.setattr("eosfw.runtime.tasks.startup.ownership_before_init", lambda *_, **__: TaskOwnership.OWNER)

    written, expected, _ = two_runs(eos, "send-offsets")

    with pytest.raises(AssertionError, match=r"[1-9][\d,]* duplicate"):
        eos.assert_exactly_once(written, expected)


@ONE_IS_ENOUGH
def test_without_the_check_after_initialising_the_matrix_fails(eos, monkeypatch):
    """FEN-09: a task that initialised late must look whether it still owns its share."""
    leave_out_check_after_init(monkeypatch)

    written, expected, _ = two_runs(eos, "init-producer")

    with pytest.raises(AssertionError, match=r"[1-9][\d,]* duplicate"):
        eos.assert_exactly_once(written, expected)
