"""Fencings of late with their cause: who replaced whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from eosfw.observe import TaskStep
from eosfw.observe.timeline import fenced_ids
from eosfw.text import quantity
from eosfw_console.recent_steps import WorkerStep


@dataclass(frozen=True, slots=True)
class Fencing:
    """One producer that was shut out, or one round in which a leader shut several out."""

    at: float
    """Seconds since the epoch."""
    connector: str
    who: str
    cause: str
    error: str = ""


def fencings_of(steps: Sequence[WorkerStep]) -> Iterator[Fencing]:
    """The fencings, newest first; each costs a walk through the steps, so take as many as are shown."""
    for at, one in reversed(list(enumerate(steps))):
        event = one.event
        if event.step is TaskStep.FENCED and event.task is not None:
            who = f"task {event.task.task}, generation {event.generation} on {one.worker}"
            error = str(event.detail.get("error", ""))
            yield Fencing(event.at, event.connector, who, _cause(one, steps), error)
        elif event.step is TaskStep.FENCE_ZOMBIES and (ids := fenced_ids(event)):
            generation = _next_generation(islice(steps, at, None), event.connector)
            yield Fencing(
                at=event.at,
                connector=event.connector,
                who=f"producers of {quantity(len(ids), 'transactional id')}",
                cause=f"the leader {one.worker} shut them out before {generation} starts",
            )


def _cause(fenced: WorkerStep, steps: Sequence[WorkerStep]) -> str:
    event = fenced.event
    for one in reversed(steps):
        if one.event.step is TaskStep.INIT_PRODUCER and one.event.task == event.task and _is_later(one, fenced):
            return f"generation {one.event.generation} on {one.worker} replaced it"
    for one in reversed(steps):
        ids = fenced_ids(one.event) if one.event.step is TaskStep.FENCE_ZOMBIES else ()
        if event.transactional_id in ids and one.event.at <= event.at:
            return f"the leader {one.worker} shut it out for a new generation"
    return "no task of this group replaced it: somebody else uses its transactional id"


def _is_later(other: WorkerStep, fenced: WorkerStep) -> bool:
    """Whether another producer of the task took over: of a later generation, or of the same one on another worker."""
    theirs, own = other.event.generation or 0, fenced.event.generation or 0
    return theirs > own or (theirs == own and other.worker != fenced.worker and other.event.at <= fenced.event.at)


def _next_generation(steps: Iterable[WorkerStep], connector: str) -> str:
    for one in steps:
        event = one.event
        if event.connector == connector and event.task is not None and event.step is TaskStep.INIT_PRODUCER:
            return f"generation {event.generation}"
    return "a new generation"
