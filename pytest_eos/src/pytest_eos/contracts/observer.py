"""The contract of an observer of steps."""

from __future__ import annotations

import random

import pytest

from eosfw.ids import ConnectorTaskId
from eosfw.observe import StepEvent, TaskStep
from eosfw.protocols import Observer
from pytest_eos.contracts.threads import at_once


class ObserverContract:
    """Inherit, and define the fixture `observer_class` (a class that is offered by `eosfw_observers`)."""

    @pytest.fixture
    def observer_class(self) -> type[Observer]:
        """The class under test."""
        raise NotImplementedError("define the fixture observer_class")

    def test_an_observer_names_itself_and_is_made_without_arguments(self, observer_class: type[Observer]) -> None:
        assert isinstance(observer_class(), Observer)
        assert observer_class.name

    @pytest.mark.parametrize("step", TaskStep)
    def test_each_step_of_a_task_and_of_the_leader_is_heard(
        self, observer_class: type[Observer], step: TaskStep
    ) -> None:
        observer = observer_class()

        observer.observe(_event(step, task=0))
        observer.observe(_event(step, task=None))

    @pytest.mark.parametrize("seed", range(20))
    def test_no_order_of_steps_is_an_error(self, observer_class: type[Observer], seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311 - repeatable on purpose, no secret
        observer = observer_class()

        for number in range(50):
            observer.observe(_event(chance.choice(list(TaskStep)), task=number % 3))

    def test_many_threads_are_heard_at_once(self, observer_class: type[Observer]) -> None:
        observer = observer_class()

        def work(task: int) -> None:
            for step in [*TaskStep] * 5:
                observer.observe(_event(step, task))

        at_once(work)


def _event(step: TaskStep, task: int | None) -> StepEvent:
    return StepEvent(
        step=step,
        at=1.0,
        wall=1_700_000_000.0,
        connector="orders",
        task=None if task is None else ConnectorTaskId("orders", task),
        generation=0,
        transactional_id="shop-orders-0",
        transaction=1,
        detail={"records": 3, "error": "no", "ids": ["shop-orders-0"], "count": 1},
    )
