"""Nothing is lost or repeated, whatever happens to a task."""

import pytest
from pytest_eos import EosHarness

from eosfw_counter import CounterConnector

PROPERTIES = {"streams": 3, "until": 12, "batch.size": 4, "tasks.max": 3}


def test_a_run_writes_what_its_source_holds(eos: EosHarness) -> None:
    run = eos.run(CounterConnector, PROPERTIES)

    eos.assert_exactly_once(run, expected=[f"s{stream}:{n}" for stream in range(3) for n in range(12)])


@pytest.mark.eos_zombie(at="all")  # one test per step: a task freezes there, is replaced, wakes up
def test_a_zombie_loses_nothing_and_repeats_nothing(eos: EosHarness) -> None:
    run = eos.run(CounterConnector, PROPERTIES)

    eos.assert_exactly_once(run, expected=run.source_records())
