"""A whole worker sleeps, or dies, in a process of its own; nothing is lost or repeated."""

from __future__ import annotations

import pytest
from tests.pytest_eos.counter import CounterConnector

CONNECTOR = f"{CounterConnector.__module__}:{CounterConnector.__name__}"
pytestmark = [pytest.mark.timeout(180), pytest.mark.eos_clock("real")]


def put_successor(eos, process, properties):
    """Have a worker of this process take the group over, with one task less; return its run."""
    worker = eos.worker(process.group)
    run = eos.starting(CounterConnector, {**properties, "tasks.max": 1}, name=process.name, worker=worker)
    worker.put(run.name, run.properties)
    worker.until_drained()
    return run


@pytest.mark.parametrize("step", ["send-offsets", "commit"])
def test_a_process_that_sleeps_in_its_transaction_is_fenced_when_it_wakes(eos, zombies, step):
    """TXN-02, ruling 1: SIGSTOP, a new run of the group, SIGCONT; the old run finds itself superseded."""
    properties = {"topic": "counts", "tasks.max": 2, "streams": 2}
    process = zombies.process(CONNECTOR, properties, at=step, nth=2).await_frozen()

    run = put_successor(eos, process, properties)
    status = process.wake().await_end()

    assert status == 5
    assert process.fenced
    eos.assert_exactly_once("counts", run.source_records())


def test_a_process_that_dies_in_its_transaction_leaves_nothing_behind(eos, zombies):
    """TXN-02: SIGKILL; what it had sent is aborted by its successor's fencing."""
    properties = {"topic": "counts", "tasks.max": 2, "streams": 2}
    process = zombies.process(CONNECTOR, properties, at="commit", nth=2).await_frozen()

    process.kill()
    run = put_successor(eos, process, properties)

    eos.assert_exactly_once("counts", run.source_records())
