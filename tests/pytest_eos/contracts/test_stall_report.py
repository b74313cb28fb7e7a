"""A wait that times out names its cause in the first line."""

from __future__ import annotations

import pytest
from tests.pytest_eos import stalling
from tests.pytest_eos.counter import CounterConnector

from eosfw.records import ProducerRecord
from pytest_eos.contracts.connectors.task_driver import TaskDriver
from pytest_eos.virtual import VirtualRuntime

ONE = {"tasks.max": 1}


def message(eos, connector, **properties) -> list[str]:
    """The lines with which a run of a connector fails."""
    with pytest.raises(pytest.fail.Exception) as found:
        eos.run(connector, {**ONE, **properties})
    return str(found.value).splitlines()


def test_a_failing_source_is_reported_with_its_error(eos):
    """The clock is not to blame for a server's errors."""
    first, task = message(eos, stalling.Failing)

    begin = "waited 60 virtual seconds in vain for a drained run: polls of task failing-0 fail: "
    assert first.startswith(begin)
    assert first.endswith(" polls raised, last 503 Service Unavailable")
    assert "polls gave 8 records, the last of {'stream': 's1'} at {'next': 4}" in task
    assert "at_end was never asked, no open transaction; RUNNING of generation 0, its last step poll" in task


def test_a_source_that_promises_more_is_reported_by_its_at_end(eos):
    """It is not drained by its own word."""
    first, task = message(eos, stalling.Promising)

    assert first.endswith("task promising-0 gives no records, yet its at_end says that there are more (False)")
    assert "the last of {'stream': 's1'} at {'next': 24}" in task


def test_an_unrequested_transaction_end_is_reported(eos):
    """BND-02: records were returned, none became visible."""
    first, task = message(eos, stalling.Open, **{"transaction.boundary": "connector"})

    assert first.endswith("task open-0 did not ask to end its transaction, which holds 24 records")
    assert "24 records in an open transaction" in task


@pytest.mark.eos_clock("real")
def test_a_blocked_poll_is_reported_with_its_line(eos):
    """A poll on a thread of its own cannot be interrupted."""
    eos.waiter.patience = 0.3
    first, task = message(eos, stalling.Waiting)
    stalling.OVER.set()

    assert first.startswith(
        "waited 0.3 s in vain for a drained run: poll of task waiting-0 has not returned: it stands"
    )
    assert "called by poll (pytest_eos/stalling.py:" in first
    assert "poll has not returned" in task


def test_the_clock_is_blamed_only_for_a_source_without_records(eos):
    """Nothing else is known of it."""
    group = eos.worker()
    run = eos.create_run(stalling.Silent, ONE)
    group.put(run.name, run.properties)

    with pytest.raises(
        pytest.fail.Exception, match=r'virtual; .* needs the real clock: @pytest.mark.eos_clock\("real"\)'
    ):
        group.until(lambda: False, "a miracle")


def test_the_transaction_that_blocks_readers_is_shown(eos):
    """The id leads to its task."""
    producer = eos.backend.producer("somebody", transaction_timeout=600.0)
    producer.init_transactions(5.0)
    eos.run(CounterConnector, {"topic": "counts"})
    producer.begin_transaction()
    producer.send(ProducerRecord("counts", b"1"))
    producer.flush(5.0)

    with pytest.raises(
        pytest.fail.Exception, match=r"in counts: somebody has one open in counts-0 since offset \d+, for 6"
    ):
        eos.topic("counts").values()


def test_a_contract_does_not_mistake_a_failing_source_for_an_empty_one():
    """It would test the half of it."""
    driver = TaskDriver(stalling.Failing(), {"connector.class": "failing", "topic": "t"}, VirtualRuntime())

    with pytest.raises(pytest.fail.Exception, match=r"^polls of task contract-0 fail: .* last 503 Service Unavailable"):
        driver.records(driver.task_configs(1)[0], {}, 100)
