"""The steps that a worker's tasks and its leader took of late."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from eosfw.errors import DamagedDataError
from eosfw.observe import LEADER, STARTUP, StepEvent, TaskStep, event_from_json, event_to_json

MOST_STEPS: Final = 20_000
"""Steps of transactions that a worker keeps."""
MOST_SENT: Final = 5_000
"""Steps that one answer has, the newest ones."""
_OF_TRANSACTIONS: Final = frozenset({TaskStep.BEGIN, TaskStep.SEND, TaskStep.COMMITTED, TaskStep.ABORTED})
_ENDS: Final = (TaskStep.FENCED, TaskStep.SUPERSEDED, TaskStep.FAILED, TaskStep.STOPPED)
_RARE: Final = frozenset((*STARTUP, *LEADER, *_ENDS))
_MOST_RARE: Final = 2_000


@dataclass(frozen=True, slots=True)
class WorkerStep:
    """A step, and the worker in which it was taken; its `at` is the time of the day, which workers share."""

    worker: str
    event: StepEvent


class RecentSteps:
    """Hears of every step of a worker, and keeps what a timeline needs; thread-safe."""

    def __init__(self) -> None:
        self._transactions: deque[StepEvent] = deque(maxlen=MOST_STEPS)
        # Apart, so that a task with many transactions drives no fencing out.
        self._rare: deque[StepEvent] = deque(maxlen=_MOST_RARE)

    def observe(self, event: StepEvent) -> None:
        """Keep a step, on the thread that takes it: so without a lock."""
        if event.step in _OF_TRANSACTIONS:
            self._transactions.append(event)
        elif event.step in _RARE:
            self._rare.append(event)

    def lines(self, since: float) -> str:
        """The steps from a time of the day on, oldest first, as lines of JSON."""
        rare, many = ([one for one in kept.copy() if one.wall >= since] for kept in (self._rare, self._transactions))
        found = sorted([*rare, *many[-(MOST_SENT - len(rare)) :]], key=lambda event: event.wall)
        return "\n".join(map(event_to_json, found))


def steps_of(texts: Iterable[tuple[str, str]]) -> Sequence[WorkerStep]:
    """The steps of several workers in one order, from the name and the lines of each."""
    found = [WorkerStep(worker, event) for worker, text in texts for event in _events(text)]
    return sorted(found, key=lambda one: one.event.at)


def _events(text: str) -> Iterable[StepEvent]:
    for line in text.splitlines():
        try:
            event = event_from_json(line)
        except DamagedDataError:
            continue  # of a worker with another version
        yield replace(event, at=event.wall)
