"""Zombies of Spark's drivers and executors, and what their queries wrote."""

from __future__ import annotations

import re
from contextlib import closing

import pytest
from tests.pytest_eos.counter import CounterConnector

from eosfw.protocols import NewTopic
from pytest_eos.environment.processes import os_processes

pytestmark = [pytest.mark.spark, pytest.mark.ci, pytest.mark.timeout(900)]


def copied(eos, query="copy"):
    """Run a counter into a topic, copy that topic by a query under the test's zombie; return the query's run."""
    run = eos.run(CounterConnector, {"streams": 2, "topic": "from"})
    with closing(eos.backend.admin()) as admin:
        admin.create_topics([NewTopic("to", 2)])
    queried = eos.run_query(f"tests.pytest_eos.spark.queries:{query}", {"from": "from", "to": "to"})
    eos.assert_exactly_once("to", run.source_records(), key="value")
    eos.assert_no_anomaly(queried, "to")
    return queried


def complaint(eos):
    """Why a copy fails whose zombie never rose."""
    with pytest.raises(pytest.fail.Exception) as failed:
        copied(eos)
    # The plugin would fail this test, too.
    eos.queries.close()
    eos.queries.drivers.clear()
    return str(failed.value)


def left_behind(query):
    """Processes and temporary files of the query's drivers."""
    folders = [driver.folder for driver in query.drivers]
    pids = [os_processes.with_variable(os_processes.FOLDER_VARIABLE, str(folder)) for folder in folders]
    return [pid for some in pids for pid in some] + [folder for folder in folders if (folder / "tmp").exists()]


@pytest.mark.eos_zombie(at="batch:commit")
def test_a_driver_that_wakes_after_its_successor_repeats_nothing(eos):
    """SPK-07: it stood still with its transaction prepared; the second driver took checkpoint and transactional id."""
    query = copied(eos)

    first, second = query.drivers
    assert first.await_ended() is not None
    assert second.await_ended() is None
    assert left_behind(query) == []


@pytest.mark.nightly
@pytest.mark.eos_zombie(at="batch:staged")
def test_an_executor_that_stood_still_leaves_no_row_twice(eos):
    """SPK-03: its task had staged all rows; a second attempt staged them again on the other executor."""
    query = copied(eos)

    attempts = {event.detail["attempt"] for event in query.drivers[0].events() if "attempt" in event.detail}
    assert attempts >= {0, 1}
    assert left_behind(query) == []


@pytest.mark.nightly
@pytest.mark.eos_zombie(at="batch", how="kill")
def test_whoever_dies_at_a_step_no_row_is_lost_or_repeated(eos):
    """SPK-01: SIGKILL at each step, of the driver with all of its processes or of an executor."""
    copied(eos)


@pytest.mark.nightly
@pytest.mark.eos_zombie(at="batch")
def test_whoever_stands_still_at_a_step_no_row_is_lost_or_repeated(eos):
    """SPK-01: SIGSTOP at each step, and SIGCONT when the successor has finished."""
    copied(eos)


@pytest.mark.nightly
@pytest.mark.eos_zombie(at=["batch:publish", "batch:commit"], who="executor")
def test_a_writer_that_stood_still_in_mode_parallel_leaves_no_row_twice(eos):
    """SPK-03: its transaction holds rows of a batch; a second attempt on the other executor fences it and commits."""
    query = copied(eos, "copy_in_parallel")

    attempts = {event.detail["attempt"] for event in query.drivers[0].events() if "attempt" in event.detail}
    assert attempts >= {0, 1}
    assert left_behind(query) == []


@pytest.mark.nightly
@pytest.mark.eos_zombie(at="batch:commit")
def test_a_query_that_is_not_exactly_once_is_convicted(eos, eos_spark, tmp_path):
    """Broken on purpose: it appends its batches to a folder, and the driver that wakes appends one again."""
    run = eos.run(CounterConnector, {"streams": 2, "topic": "from"})
    eos.run_query("tests.pytest_eos.spark.queries:append", {"from": "from", "to": str(tmp_path / "rows")})

    with pytest.raises(AssertionError) as found:
        eos.assert_exactly_once(
            tmp_path / "rows", [record.value.decode() for record in run.source_records()], key="value"
        )

    assert " duplicates, 0 missing" in str(found.value)
    assert "file part-" in str(found.value)


PIPELINE: dict[str, object] = {
    "connectors": {"counts": {"connector.class": CounterConnector, "streams": 2, "topic": "from", "tasks.max": 2}},
    "steps": [
        {
            "name": "copy",
            "inputs": ["from"],
            "sql": "SELECT value FROM from",
            "output": {"topic": "to"},
            "trigger": "available-now",
        }
    ],
}


@pytest.mark.eos_zombie(at="batch:publish", nth=1, how="kill")
def test_a_pipeline_with_a_streaming_step_is_exactly_once_under_a_zombie(eos):
    """Its driver dies before the first row of a batch is sent; the next one goes on from the step's checkpoint."""
    run = eos.run_pipeline(PIPELINE)

    eos.assert_exactly_once(run.output("copy"), run.connector().source_records(), key="value")


@pytest.mark.nightly
@pytest.mark.eos_zombie(at="batch:publish", nth=99)
def test_a_step_that_no_batch_reaches_fails_the_test(eos):
    """A zombie that was asked for must rise; the message says how to get more batches."""
    assert re.search(r"never rose: .* 99 batches .* maxOffsetsPerTrigger", complaint(eos))


@pytest.mark.nightly
@pytest.mark.eos_zombie(at="batch:read", who="executor")
def test_an_executor_that_no_batch_asks_to_read_fails_the_test(eos):
    """The driver reads small batches; the message names the option that leaves them to tasks."""
    assert re.search("never rose: .* prefetchOffsets 0", complaint(eos))
