"""Fold step events into transactions, lanes, counts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from eosfw.state.steps import STARTUP, StepEvent, TaskStep

_STARTUP = frozenset(STARTUP)


class Lane(NamedTuple):
    """One run of one task: tasks of the same number in two generations are two."""

    connector: str
    generation: int
    task: int


class Outcome(Enum):
    """How a transaction ended, as its own task saw it."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    FENCED = "fenced"
    OPEN = "open"
    """Neither: still open, or its task ended without knowing."""


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
_TASK_ENDS = frozenset({TaskStep.SUPERSEDED, TaskStep.FAILED, TaskStep.STOPPED})


@dataclass(slots=True)
class LaneStory:
    """What is known of one lane."""

    lane: Lane
    first: float
    last: StepEvent
    transactions: deque[Transaction]
    opened: StepEvent | None = None
    records: int = 0
    starts: list[tuple[float, float]] = field(default_factory=list)
    """Intervals of the startup protocol."""
    marks: list[StepEvent] = field(default_factory=list)
    """Fencings, failures, ends."""
    suspect: bool = False
    """Received a fencing error and has not started over since."""


class Fold:
    """The state of a run, from its events in order; not thread-safe."""

    def __init__(self, keep: int | None = None) -> None:
        self._keep = keep
        self.records = 0
        self.transactions = 0
        self.lanes: dict[Lane, LaneStory] = {}
        self.leader: deque[StepEvent] = deque(maxlen=keep)
        self.zombies: dict[Lane, StepEvent] = {}
        """Lanes whose producer was an old one when it received a fencing error, with that event."""
        self.generations: dict[str, int] = {}
        self.transactional = False
        """Whether any task wrote under a transactional id; without, a commit is one of offsets alone."""
        self.first: float | None = None
        self.last: float = 0.0

    def add(self, event: StepEvent) -> None:
        """Take one event into account."""
        self.first = event.at if self.first is None else min(self.first, event.at)
        self.last = max(self.last, event.at)
        if event.generation is not None:
            known = self.generations.get(event.connector, event.generation)
            self.generations[event.connector] = max(known, event.generation)
        if event.task is None:
            self.leader.append(event)
            return
        self.transactional = self.transactional or event.transactional_id is not None
        story = self._story(event, event.task.task)
        self._follow_start(story, event)
        self._follow_transaction(story, event)
        self._follow_zombie(story, event)
        story.last = event

    def next_generation(self, connector: str, at: float) -> tuple[float, int] | None:
        """The generation whose tasks were the first to act after a moment, with when they did.

        That is the one a leader wrote task configurations for at that moment.
        """
        later = [(story.first, lane.generation) for lane, story in self.lanes.items() if lane.connector == connector]
        return min((pair for pair in later if pair[0] >= at), default=None)

    def _story(self, event: StepEvent, task: int) -> LaneStory:
        lane = Lane(event.connector, event.generation or 0, task)
        story = self.lanes.get(lane)
        if story is None:
            story = self.lanes[lane] = LaneStory(lane, event.at, event, deque(maxlen=self._keep))
        return story

    def _follow_start(self, story: LaneStory, event: StepEvent) -> None:
        starting = event.step in _STARTUP
        if starting and (story.last is event or story.last.step not in _STARTUP):
            story.starts.append((event.at, event.at))
        elif story.starts and story.last.step in _STARTUP:
            story.starts[-1] = (story.starts[-1][0], event.at)
        if starting:
            story.suspect = False

    def _follow_transaction(self, story: LaneStory, event: StepEvent) -> None:
        if event.step is TaskStep.BEGIN or event.step in _STARTUP:
            self._close(story, event.at, Outcome.OPEN)  # its outcome was indefinite: the task started over
        if event.step is TaskStep.BEGIN or (event.step is TaskStep.SEND and story.opened is None):
            story.opened = event
        if event.step is TaskStep.SEND:
            story.records += _count(event)
        outcome = _ENDS.get(event.step)
        if outcome is None:
            return
        if event.step is not TaskStep.COMMITTED and event.step is not TaskStep.ABORTED:
            story.marks.append(event)
        if outcome is Outcome.COMMITTED:
            story.records = _count(event, story.records)
            self.records += story.records
            self.transactions += 1
        self._close(story, event.at, outcome)

    def _close(self, story: LaneStory, end: float, outcome: Outcome) -> None:
        begun = story.opened
        if begun is not None:
            done = Transaction(story.lane, begun.transaction, begun.at, end, story.records, outcome)
            story.transactions.append(done)
        story.opened, story.records = None, 0

    def _follow_zombie(self, story: LaneStory, event: StepEvent) -> None:
        # A coordinator's timeout gives the same error as a fencing. Only a producer that is not the newest of its
        # connector, or that finds itself superseded right after, was a zombie; an owner starts over instead.
        if event.step is TaskStep.FENCED:
            story.suspect = True
            if story.lane.generation < self.generations.get(event.connector, 0):
                self.zombies.setdefault(story.lane, event)
        elif event.step is TaskStep.SUPERSEDED and story.suspect:
            self.zombies.setdefault(story.lane, story.last if story.last.step is TaskStep.FENCED else event)


def _count(event: StepEvent, otherwise: int = 0) -> int:
    records = event.detail.get("records")
    return records if isinstance(records, int) else otherwise
