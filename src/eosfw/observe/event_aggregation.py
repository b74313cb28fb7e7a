"""Aggregation of step events into lanes, transactions and counts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from eosfw.state.steps import STARTUP, StepEvent, TaskStep

_STARTUP = frozenset(STARTUP)


class Lane(NamedTuple):
    """One task of one generation."""

    connector: str
    generation: int
    task: int


class Outcome(Enum):
    """How a transaction ended, by the events of its task."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    FENCED = "fenced"
    OPEN = "open"
    """Still open, or its task ended without knowing its outcome."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction of one lane, in seconds of the runtime's clock."""

    lane: Lane
    number: int | None
    begin: float
    end: float
    records: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class OpenTask:
    """The open transaction of a task: how many records it holds, how long it is open."""

    lane: Lane
    transactional_id: str | None
    number: int | None
    records: int
    age: float


_ENDS = {
    TaskStep.COMMITTED: Outcome.COMMITTED,
    TaskStep.ABORTED: Outcome.ABORTED,
    TaskStep.FENCED: Outcome.FENCED,
    TaskStep.SUPERSEDED: Outcome.OPEN,
    TaskStep.FAILED: Outcome.OPEN,
    TaskStep.STOPPED: Outcome.OPEN,
}


@dataclass(slots=True)
class LaneHistory:
    """The history of one lane."""

    lane: Lane
    first: float
    last: StepEvent
    transactions: deque[Transaction]
    opened: StepEvent | None = None
    records: int = 0
    starts: list[tuple[float, float]] = field(default_factory=list)
    """Begin and end of each run of the startup protocol."""
    marks: list[StepEvent] = field(default_factory=list)
    """Events of fencing, failure and end."""
    suspect: bool = False
    """Whether it received a fencing error and has not started over since."""


class EventAggregation:
    """The state of a run after its events, in order; not thread-safe."""

    def __init__(self, keep: int | None = None) -> None:
        self._keep = keep
        self.records = 0
        self.transactions = 0
        self.lanes: dict[Lane, LaneHistory] = {}
        self.leader: deque[StepEvent] = deque(maxlen=keep)
        self.zombies: dict[Lane, StepEvent] = {}
        """Lanes whose producer was replaced when it received a fencing error, with that event."""
        self.generations: dict[str, int] = {}
        self.transactional = False
        """Whether any task has a transactional id; without one, a commit is a commit of offsets."""
        self.first: float | None = None
        self.last: float = 0.0

    def add(self, event: StepEvent) -> None:
        """Apply one event."""
        self.first = event.at if self.first is None else min(self.first, event.at)
        self.last = max(self.last, event.at)
        if event.generation is not None:
            known = self.generations.get(event.connector, event.generation)
            self.generations[event.connector] = max(known, event.generation)
        if event.task is None:
            self.leader.append(event)
            return
        self.transactional = self.transactional or event.transactional_id is not None
        history = self._history_of(event, event.task.task)
        self._track_start(history, event)
        self._track_transaction(history, event)
        self._track_zombie(history, event)
        history.last = event

    def next_generation(self, connector: str, at: float) -> tuple[float, int] | None:
        """The generation whose tasks acted first after a moment, with the time of that.

        A leader that wrote task configurations at the moment wrote them for this generation.
        """
        later = [
            (history.first, lane.generation) for lane, history in self.lanes.items() if lane.connector == connector
        ]
        return min((pair for pair in later if pair[0] >= at), default=None)

    def _history_of(self, event: StepEvent, task: int) -> LaneHistory:
        lane = Lane(event.connector, event.generation or 0, task)
        history = self.lanes.get(lane)
        if history is None:
            history = self.lanes[lane] = LaneHistory(lane, event.at, event, deque(maxlen=self._keep))
        return history

    def _track_start(self, history: LaneHistory, event: StepEvent) -> None:
        starting = event.step in _STARTUP
        if starting and (history.last is event or history.last.step not in _STARTUP):
            history.starts.append((event.at, event.at))
        elif history.starts and history.last.step in _STARTUP:
            history.starts[-1] = (history.starts[-1][0], event.at)
        if starting:
            history.suspect = False

    def _track_transaction(self, history: LaneHistory, event: StepEvent) -> None:
        if event.step is TaskStep.BEGIN or event.step in _STARTUP:
            self._close(history, event.at, Outcome.OPEN)  # its outcome was indefinite: the task started over
        if event.step is TaskStep.BEGIN or (event.step is TaskStep.SEND and history.opened is None):
            history.opened = event
        if event.step is TaskStep.SEND:
            history.records += _count(event)
        outcome = _ENDS.get(event.step)
        if outcome is None:
            return
        if event.step is not TaskStep.COMMITTED and event.step is not TaskStep.ABORTED:
            history.marks.append(event)
        if outcome is Outcome.COMMITTED:
            history.records = _count(event, history.records)
            self.records += history.records
            self.transactions += 1
        self._close(history, event.at, outcome)

    def _close(self, history: LaneHistory, end: float, outcome: Outcome) -> None:
        begun = history.opened
        if begun is not None:
            done = Transaction(
                lane=history.lane,
                number=begun.transaction,
                begin=begun.at,
                end=end,
                records=history.records,
                outcome=outcome,
            )
            history.transactions.append(done)
        history.opened, history.records = None, 0

    def _track_zombie(self, history: LaneHistory, event: StepEvent) -> None:
        # A timeout in the coordinator gives the same error as a fencing. A producer was a zombie only if its generation
        # is not the newest, or if its task is superseded right afterwards; an owner starts over instead.
        if event.step is TaskStep.FENCED:
            history.suspect = True
            if history.lane.generation < self.generations.get(event.connector, 0):
                self.zombies.setdefault(history.lane, event)
        elif event.step is TaskStep.SUPERSEDED and history.suspect:
            self.zombies.setdefault(history.lane, history.last if history.last.step is TaskStep.FENCED else event)


def _count(event: StepEvent, otherwise: int = 0) -> int:
    records = event.detail.get("records")
    return records if isinstance(records, int) else otherwise
