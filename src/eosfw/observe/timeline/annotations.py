"""The steps of the leader on the timeline, and the places of their labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from eosfw.observe.event_aggregation import EventAggregation
from eosfw.state.steps import StepEvent, TaskStep

CHARACTER = 6.1
"""Estimated width of a character of a label, in pixels at 11 px type."""


class Moment(Enum):
    """What a vertical line marks."""

    GENERATION = "generation"
    FENCING = "fencing"


@dataclass(frozen=True, slots=True)
class Rule:
    """A vertical line with a label; `end_x` is the end of a round of fencing; levels count upwards from the lanes."""

    moment: Moment
    x: float
    end_x: float
    label: str
    title: str
    level: int = 0
    leftwards: bool = False
    """Whether the label is left of the line, because there is no room on its right."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The time in which the tasks of an older generation may stop, before those of the next one start."""

    begin: float
    end: float
    generation: int
    """The older generation."""


def waits(aggregation: EventAggregation) -> list[Wait]:
    """The wait for each generation that was replaced."""
    found = []
    for event in aggregation.leader:
        if event.step is TaskStep.WRITE_TASK_CONFIGS:
            started = aggregation.next_generation(event.connector, event.at)
            if started is not None and started[1] > 0 and _has_run(aggregation, event.connector, started[1] - 1):
                found.append(Wait(event.at, started[0], started[1] - 1))
    return found


def _has_run(aggregation: EventAggregation, connector: str, generation: int) -> bool:
    return any(lane[:2] == (connector, generation) for lane in aggregation.lanes)


def leader_steps(events: Iterable[StepEvent], x: Callable[[float], float]) -> list[tuple[float, StepEvent]]:
    """The leader's steps with their pixels."""
    return [(x(event.at), event) for event in events]


def rules(aggregation: EventAggregation, x: Callable[[float], float]) -> list[Rule]:
    """Lines for new generations and for rounds that fenced at least one id."""
    found: list[Rule] = []
    rounds: dict[str, tuple[int, float]] = {}
    for event in aggregation.leader:
        if event.step is TaskStep.WRITE_TASK_CONFIGS:
            label = f"{event.connector}: {_generation(event, aggregation)}"
            found.append(Rule(Moment.GENERATION, x(event.at), x(event.at), label, _title(event)))
        elif event.step is TaskStep.FENCE_ZOMBIES:
            if ids := fenced_ids(event):
                rounds[event.connector] = (len(found), event.at)
                label = f"fencing round: {len(ids)} id{'s' * (len(ids) != 1)}"
                found.append(Rule(Moment.FENCING, x(event.at), x(event.at), label, _title(event)))
        elif event.step is TaskStep.WRITE_TASK_COUNT and event.connector in rounds:
            index, begun = rounds.pop(event.connector)
            took = f"{found[index].title}, {event.at - begun:.3f} s"
            found[index] = replace(found[index], end_x=x(event.at), title=took)
    return found + [_takeover(event, x(event.at)) for event in aggregation.takeovers]


def _takeover(event: StepEvent, x: float) -> Rule:
    number = (event.generation or 0) + 1
    return Rule(Moment.FENCING, x, x, f"driver {number} fences driver {number - 1}", _title(event))


def _generation(event: StepEvent, aggregation: EventAggregation) -> str:
    # the generation is known only once the task configurations are written: the events of its tasks have it first
    if event.generation is not None:
        return f"generation {event.generation}"
    started = aggregation.next_generation(event.connector, event.at)
    return "new generation" if started is None else f"generation {started[1]}"


def fenced_ids(event: StepEvent) -> tuple[str, ...]:
    """The transactional ids that a round of fencing names."""
    ids = event.detail.get("ids")
    return tuple(map(str, ids)) if isinstance(ids, (list, tuple, set, frozenset)) else ()


def _title(event: StepEvent) -> str:
    ids = ", ".join(fenced_ids(event))
    return f"{event.step.value} of {event.connector}" + (f": {ids}" if ids else "")


def place_labels(found: Sequence[Rule], right: float) -> list[Rule]:
    """Give each label the lowest level at which it covers no other label."""
    taken: list[list[tuple[float, float]]] = []
    placed = []
    for rule in found:
        room = len(rule.label) * CHARACTER + 8
        leftwards = rule.x + room > right
        low, high = (rule.x - room, rule.x) if leftwards else (rule.x, rule.x + room)
        level = next(
            (n for n, spans in enumerate(taken) if all(high <= a or low >= b for a, b in spans)),
            len(taken),
        )
        if level == len(taken):
            taken.append([])
        taken[level].append((low, high))
        placed.append(replace(rule, level=level, leftwards=leftwards))
    return placed
