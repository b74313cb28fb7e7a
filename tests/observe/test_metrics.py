"""Metrics of tasks under Kafka Connect's names (MET-01)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clocks import StoppedClock
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Metrics, StepEvent, TaskStep

TASK = ConnectorTaskId("orders", 0)


def step(step: TaskStep, at: float = 0.0, generation: int = 0, **detail: Any) -> StepEvent:
    return StepEvent(step, at, at, "orders", TASK, generation, "group-orders-0", None, detail)


def values(*events: StepEvent, now: float = 0.0) -> dict[str, float]:
    metrics = Metrics(StoppedClock(now))
    for event in events:
        metrics.observe(event)
    return {metric.name: metric.value for metric in metrics.metrics([TASK])}


def committed(records: int, at: float) -> list[StepEvent]:
    """The steps of a transaction that polls for 1 s, sends for 2 s, and takes 3 s to commit."""
    return [
        step(TaskStep.POLL, at),
        step(TaskStep.BEGIN, at + 1),
        step(TaskStep.SEND, at + 1, records=records),
        step(TaskStep.COMMIT, at + 3, records=records),
        step(TaskStep.COMMITTED, at + 6, records=records),
    ]


def test_sizes_and_times_are_those_of_committed_transactions() -> None:
    found = values(*committed(31, 0.0), *committed(10, 100.0))

    assert (found["transaction-size-min"], found["transaction-size-max"]) == (10, 31)
    assert found["transaction-size-avg"] == 20.5
    assert found["offset-commit-avg-time-ms"] == pytest.approx(3000)
    assert found["offset-commit-max-time-ms"] == pytest.approx(3000)
    assert found["poll-batch-avg-time-ms"] == pytest.approx(1000)
    assert found["poll-batch-max-time-ms"] == pytest.approx(1000)
    assert (found["source-record-active-count-max"], found["source-record-active-count-avg"]) == (31, 20.5)
    assert (found["source-record-write-total"], found["source-record-active-count"]) == (41, 0)
    assert (found["offset-commit-success-percentage"], found["offset-commit-failure-percentage"]) == (1, 0)


def test_an_aborted_transaction_has_no_size_and_its_offsets_have_zero() -> None:
    aborted = [
        step(TaskStep.POLL),
        step(TaskStep.SEND, records=7),
        step(TaskStep.ABORT, records=7),
        step(TaskStep.ABORTED, records=7),
        step(TaskStep.COMMIT, records=0),
        step(TaskStep.COMMITTED, records=0),
    ]

    found = values(*aborted)

    assert (found["transaction-size-max"], found["transactions-total"]) == (0, 1)
    assert found["source-record-active-count"] == 0
    assert found["source-record-active-count-max"] == 7


@pytest.mark.parametrize("end", [TaskStep.FENCED, TaskStep.FAILED])
def test_a_commit_that_ends_the_task_counts_as_failed(end) -> None:
    failed = [step(TaskStep.SEND, records=5), step(TaskStep.COMMIT, records=5), step(end)]
    found = values(*committed(1, 0.0), *committed(1, 10.0), *committed(1, 20.0), *failed)

    assert (found["offset-commit-success-percentage"], found["offset-commit-failure-percentage"]) == (0.75, 0.25)
    assert found["source-record-active-count"] == 0


@pytest.mark.parametrize("first", [TaskStep.REQUEST_FENCING, TaskStep.CHECK_OFFSETS_TOPIC])
def test_nothing_is_open_any_more_when_a_task_starts_over(first: TaskStep) -> None:
    """As after a commit whose answer was lost, which ends with no step of its own."""
    lost = [
        step(TaskStep.POLL),
        step(TaskStep.BEGIN, 1.0),
        step(TaskStep.SEND, 1.0, records=7),
        step(TaskStep.COMMIT, 2.0, records=7),
    ]

    found = values(*lost, step(first, 10.0), now=20.0)
    assert (found["source-record-active-count"], found["open-transaction-age-ms"]) == (0, 0)
    assert (found["offset-commit-success-percentage"], found["offset-commit-failure-percentage"]) == (0, 1)

    found = values(*lost, step(first, 10.0), *committed(3, 20.0), now=30.0)
    assert found["source-record-active-count"] == 0
    assert found["offset-commit-failure-percentage"] == 0.5


def test_fencings_of_a_task_are_counted() -> None:
    """It may start over and go on, so its state alone would not tell."""
    found = values(step(TaskStep.FENCED), *committed(1, 1.0), step(TaskStep.FENCED))

    assert found["producer-fenced-total"] == 2


def test_a_zombie_does_not_count_for_its_successor() -> None:
    found = values(
        step(TaskStep.POLL, generation=2),
        step(TaskStep.SEND, generation=1, records=100),
        step(TaskStep.SEND, generation=2, records=1),
    )

    assert found["source-record-write-total"] == 1


def test_a_new_generation_starts_from_zero() -> None:
    found = values(*committed(10, 0.0), step(TaskStep.POLL, generation=1))

    assert found["source-record-write-total"] == 0


def test_a_start_that_fails_counts_once() -> None:
    found = values(step(TaskStep.REQUEST_FENCING), step(TaskStep.FAILED, error="no"), *committed(1, 1.0))

    assert found["task-startup-failure-total"] == 1
    assert found["task-startup-success-total"] == 1


@given(st.lists(st.sampled_from(list(TaskStep)), max_size=40), st.integers(0, 9))
def test_no_order_of_steps_gives_an_impossible_value(steps, records) -> None:
    found = values(*(step(one, float(at), records=records) for at, one in enumerate([TaskStep.POLL, *steps])))

    assert all(value >= 0 for value in found.values())
    assert found["transaction-size-min"] <= found["transaction-size-avg"] <= found["transaction-size-max"]
    assert found["offset-commit-success-percentage"] <= 1


def started(at: float, generation: int = 0) -> list[StepEvent]:
    """The first and last step of a start, and the first poll behind it."""
    steps = (TaskStep.REQUEST_FENCING, TaskStep.CHECK_TASK_COUNT, TaskStep.START_TASK, TaskStep.POLL)
    return [step(one, at, generation) for one in steps]


def test_shares_of_time_are_those_of_running_and_of_pauses() -> None:
    """10 s of starting, 20 s of running, 10 s of a pause."""
    found = values(
        step(TaskStep.REQUEST_FENCING, 0.0),
        step(TaskStep.CHECK_TASK_COUNT, 5.0),
        step(TaskStep.POLL, 10.0),
        step(TaskStep.PAUSED, 30.0),
        now=40.0,
    )

    assert (found["running-ratio"], found["pause-ratio"]) == (0.5, 0.25)
    for now in (5.0, 4.5):  # no time has passed, or the clock of a task's process is ahead
        assert values(step(TaskStep.POLL, 5.0), now=now)["running-ratio"] == 0
    resumed = values(step(TaskStep.POLL, 0.0), step(TaskStep.PAUSED, 10.0), step(TaskStep.RESUMED, 20.0), now=40.0)
    assert (resumed["running-ratio"], resumed["pause-ratio"]) == (0.75, 0.25)


def test_another_start_counts_its_time_anew() -> None:
    found = values(step(TaskStep.POLL, 0.0), step(TaskStep.STOPPED, 10.0), *started(20.0), now=30.0)

    assert found["running-ratio"] == 1


def test_every_start_counts_also_those_of_later_generations() -> None:
    """MET-01: an alert on restarts must see one that a new generation hides."""
    failed = [step(TaskStep.REQUEST_FENCING), step(TaskStep.CHECK_TASK_COUNT), step(TaskStep.FAILED)]
    events = [*started(0.0), step(TaskStep.FENCED), *started(1.0), step(TaskStep.STOPPED), *failed]

    found = values(*events, *started(2.0, generation=1), step(TaskStep.FAILED, 3.0, generation=1))

    assert found["starts-total"] == 3
    assert (found["task-startup-attempts-total"], found["task-startup-success-total"]) == (4, 3)
    assert (found["task-startup-failure-total"], found["task-startup-failure-percentage"]) == (1, 0.25)
    assert found["task-startup-success-percentage"] == 0.75


def test_a_fencing_that_is_asked_for_again_has_failed() -> None:
    """MET-01: until it succeeds the task cannot start, and nothing else would tell."""
    request = step(TaskStep.REQUEST_FENCING)

    assert values(request, request, request)["fencing-failures-total"] == 2
    assert values(request, step(TaskStep.FAILED))["fencing-failures-total"] == 1
    assert values(request, *started(0.0))["fencing-failures-total"] == 1
    assert values(*started(0.0), step(TaskStep.FAILED))["fencing-failures-total"] == 0
    stopped = [request, step(TaskStep.STOPPED)]
    assert values(*stopped, *started(1.0))["fencing-failures-total"] == 0


def test_a_transaction_ages_until_it_is_decided() -> None:
    """MET-01: behind it, readers at read_committed see nothing."""
    events = [step(TaskStep.POLL, 1.0), step(TaskStep.BEGIN, 2.0), step(TaskStep.SEND, 2.0, records=1)]

    for now, age in ((5.0, 3000), (2.5, 500), (1.5, 0)):
        assert values(*events, now=now)["open-transaction-age-ms"] == age
    for end in (TaskStep.COMMITTED, TaskStep.ABORTED, TaskStep.FENCED, TaskStep.STOPPED):
        assert values(*events, step(end, 4.0), now=5.0)["open-transaction-age-ms"] == 0


def test_a_batch_has_the_records_of_a_poll_however_they_are_sent() -> None:
    """A connector that sets boundaries has a poll sent in pieces."""
    pieces = [step(TaskStep.SEND, records=3), step(TaskStep.SEND, records=4)]

    found = values(step(TaskStep.POLL), *pieces, step(TaskStep.POLL), step(TaskStep.SEND, records=2))

    assert (found["batch-size-avg"], found["batch-size-max"]) == (4.5, 7)


def test_records_are_active_until_they_are_decided() -> None:
    """A commit that overlaps the next poll decides the records before it."""
    found = values(step(TaskStep.POLL), step(TaskStep.SEND, records=5), step(TaskStep.COMMITTED, records=3))

    assert found["source-record-active-count"] == 2


def test_everything_is_zero_before_anything_was_sent() -> None:
    """Whatever a step says that is no number of records."""
    for odd in ({}, {"records": "many"}):
        found = values(step(TaskStep.REQUEST_FENCING), step(TaskStep.ABORTED, **odd))
        assert set(found.values()) == {0}
        sent = values(step(TaskStep.POLL), step(TaskStep.SEND, **odd))
        assert (sent["source-record-write-total"], sent["source-record-active-count"]) == (0, 0)
