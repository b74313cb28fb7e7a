"""Metrics of tasks under Kafka Connect's names (MET-01)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Metrics, StepEvent, TaskStep

TASK = ConnectorTaskId("orders", 0)


def step(step: TaskStep, at: float = 0.0, generation: int = 0, **detail: Any) -> StepEvent:
    return StepEvent(step, at, at, "orders", TASK, generation, "group-orders-0", None, detail)


def values(*events: StepEvent) -> dict[str, float]:
    metrics = Metrics(ThreadRuntime())
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
    found = values(*committed(10, 0.0), *committed(30, 100.0))

    assert (found["transaction-size-min"], found["transaction-size-max"], found["transaction-size-avg"]) == (10, 30, 20)
    assert found["offset-commit-avg-time-ms"] == pytest.approx(3000)
    assert found["offset-commit-max-time-ms"] == pytest.approx(3000)
    assert found["poll-batch-avg-time-ms"] == pytest.approx(1000)
    assert (found["source-record-write-total"], found["source-record-active-count"]) == (40, 0)
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
    found = values(*committed(1, 0.0), step(TaskStep.SEND, records=5), step(TaskStep.COMMIT, records=5), step(end))

    assert found["offset-commit-failure-percentage"] == 0.5
    assert found["source-record-active-count"] == 0


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
