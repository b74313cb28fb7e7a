"""The steps of streaming queries on the timeline of a test, a generation for each driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from eosfw.observe import Freeze, StepEvent
from pytest_eos.runs.queries.process import QueryProcess


def numbered(drivers: Sequence[QueryProcess]) -> Iterator[tuple[int, QueryProcess]]:
    """Each driver with how many had the same query and checkpoint before it."""
    before: Counter[tuple[str, str]] = Counter()
    for driver in drivers:
        yield before[driver.identity], driver
        before[driver.identity] += 1


def query_events(drivers: Sequence[QueryProcess]) -> list[StepEvent]:
    """The steps of all drivers, oldest first, and how each one ended that failed."""
    found = [
        _of_driver(event, number, driver)
        for number, driver in numbered(drivers)
        for event in (*driver.events(), *driver.failure())
    ]
    return sorted(found, key=lambda event: event.at)


def query_freezes(drivers: Sequence[QueryProcess]) -> list[Freeze]:
    """When drivers and executors stood still."""
    return [
        replace(freeze, event=_of_driver(freeze.event, number, driver))
        for number, driver in numbered(drivers)
        if (freeze := driver.freeze) is not None
    ]


def _of_driver(event: StepEvent, number: int, driver: QueryProcess) -> StepEvent:
    detail = {**event.detail, "killed": driver.killed}
    return replace(event, connector=driver.identity[0], generation=number, detail=detail)
