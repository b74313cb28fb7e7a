"""Timeouts of whole workers in virtual time, which cost no real second."""

from __future__ import annotations

from tests.pytest_eos.counter import CounterConnector
from tests.pytest_eos.virtual.virtual_harness import SMALL, TIMEOUT

from eosfw.state.steps import TaskStep

SWEEP = 10.0
"""How often the coordinator looks for transactions beyond their timeout."""


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
