"""A history counts what was committed, no more, and knows zombies from unlucky owners."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from clocks import StoppedClock
from eosfw.errors import DamagedDataError
from eosfw.observe import History, Lane, Outcome, event_from_json
from eosfw.state.steps import StepEvent, TaskStep

from .event_histories import CONNECTOR, event, new_generation, startup, transaction


def history_of(*parts: Iterable[StepEvent], keep: int | None = None) -> History:
    history = History(StoppedClock(10.0), keep=keep)
    for part in parts:
        for each in part:
            history.observe(each)
    return history


def test_only_committed_transactions_count() -> None:
    history = history_of(
        transaction(1.0, 1.1, number=1, records=500),
        transaction(1.2, 1.3, number=2, records=400, outcome=TaskStep.ABORTED),
        transaction(1.4, 1.5, number=3, records=300),
    )

    assert (history.records, history.transactions) == (800, 2)
    assert [done.outcome for done in history.completed()] == [Outcome.COMMITTED, Outcome.ABORTED, Outcome.COMMITTED]


def test_a_fenced_producer_of_an_older_generation_is_a_zombie() -> None:
    history = history_of(
        transaction(1.0, 4.0, outcome=TaskStep.FENCED, task=2),
        new_generation(2.0, 1, 3, 4),
        [],
    )
    assert history.zombies_fenced == 0

    history.observe(event(TaskStep.FENCED, 4.0, task=2, error="fenced"))

    assert set(history.zombies()) == {Lane(CONNECTOR, 0, 2)}


def test_an_owner_that_a_timeout_fenced_is_no_zombie() -> None:
    """The coordinator's timeout gives the same error; the owner starts over and later ends in peace."""
    history = history_of(
        [event(TaskStep.FENCED, 1.0)],
        startup(1.1),
        transaction(1.3, 1.4),
        new_generation(2.0, 1, 1, 1),
        [event(TaskStep.SUPERSEDED, 2.5)],
    )

    assert history.zombies_fenced == 0


def test_a_zombie_of_another_process_is_known_by_finding_itself_superseded() -> None:
    history = history_of([event(TaskStep.FENCED, 1.0, error="fenced"), event(TaskStep.SUPERSEDED, 1.1)])

    assert history.zombies_fenced == 1
    assert history.zombies()[Lane(CONNECTOR, 0, 0)].step is TaskStep.FENCED


def test_open_transactions_are_shown_with_their_age_the_oldest_first() -> None:
    history = history_of(
        [event(TaskStep.BEGIN, 9.0, task=0, transaction=7), event(TaskStep.SEND, 9.1, task=0, records=20)],
        [event(TaskStep.BEGIN, 4.0, task=1, transaction=3)],
    )

    oldest = history.oldest_open_transaction()

    assert oldest is not None
    assert (oldest.lane.task, oldest.number, oldest.age, oldest.transactional_id) == (1, 3, 6.0, "demo-flights-1")
    assert [(task.records, task.age) for task in history.open_transactions()] == [(0, 6.0), (20, 1.0)]


def test_the_last_step_of_every_task_is_known() -> None:
    history = history_of(startup(1.0, task=0), [event(TaskStep.POLL, 2.0, task=1, generation=4)])

    steps = {lane: last.step for lane, last in history.last_steps().items()}

    assert steps == {Lane(CONNECTOR, 0, 0): TaskStep.START_TASK, Lane(CONNECTOR, 4, 1): TaskStep.POLL}


def test_events_survive_the_way_through_json_lines() -> None:
    history = history_of(startup(0.0), transaction(1.0, 1.1), new_generation(2.0, 1, 3, 4))

    assert tuple(map(event_from_json, history.lines())) == history.events()


GOOD = '{"step":"poll","at":1.5,"wall":2,"connector":"c","task":0}'


@pytest.mark.parametrize(
    "line",
    [
        '{"step":"brew","at":1,"wall":1,"connector":"c"}',
        GOOD[:-9],
        "",
        "[]",
        "null",
        "[" * 100_000,
        GOOD.replace("1.5", "NaN"),
        GOOD.replace("1.5", "-1"),
        GOOD.replace("1.5", '"1.5"'),
        GOOD.replace('"task":0', '"task":"0"'),
        GOOD.replace('"task":0', '"task":true'),
        GOOD.replace('"task":0', '"task":null'),
        GOOD.replace('"task":0', '"version":2'),
        GOOD.replace('"connector":"c",', ""),
    ],
    ids=lambda line: line[:60] or "empty",
)
def test_a_line_that_is_no_event_is_refused(line: str) -> None:
    event_from_json(GOOD)

    with pytest.raises(DamagedDataError, match="not a step event") as refused:
        event_from_json(line)
    assert len(str(refused.value)) < 400


def test_a_long_run_keeps_its_counts_when_events_are_let_go() -> None:
    history = history_of(*(transaction(n, n + 0.5, number=n, records=10) for n in range(1000)), keep=50)

    assert (history.records, history.transactions) == (10_000, 1000)
    assert len(history.events()) == len(history.completed()) == 50
    assert history.aggregation().records == 10_000
