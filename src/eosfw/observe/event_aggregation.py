"""Aggregation of step events into lanes, transactions and counts."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from eosfw.state.steps import MICRO_BATCH, STARTUP, StepEvent, TaskStep

_MICRO_BATCH = frozenset(MICRO_BATCH)
_STARTUP = frozenset(STARTUP)


class Lane(NamedTuple):
    """One task of one generation, or one task attempt of a Spark driver; its committer if `task` is negative."""

    connector: str
    generation: int
    task: int
    attempt: int = 0


COMMITTER: Final = -1
"""The task number of the lane for what a driver does itself."""


def lane_of(event: StepEvent) -> Lane | None:
    """The lane an event belongs to; None for the leader's."""
    if event.task is None and not is_of_query(event):
        return None
    attempt = event.detail.get("attempt") if event.step in _MICRO_BATCH else None
    return Lane(
        event.connector,
        event.generation or 0,
        COMMITTER if event.task is None else event.task.task,
        attempt if isinstance(attempt, int) else 0,
    )


def is_of_query(event: StepEvent) -> bool:
    """Whether a process of a Spark query announced it: a step of a micro-batch, or how its driver ended."""
    return event.step in _MICRO_BATCH or "ended" in event.detail


class Outcome(Enum):
    """How a transaction ended, by the events of its task."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    FENCED = "fenced"
    OPEN = "open"
    """Still open, or its task ended without knowing its outcome."""
    STAGED = "staged"
    """All rows of a task of a micro-batch are staged; its committer publishes them."""
    SKIPPED = "skipped"
    """A micro-batch that was published before."""


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
    of_query: bool = False
    """Whether its transactions are micro-batches of a Spark query."""
    published: bool = False
    """Whether the open micro-batch has begun its transaction."""


class EventAggregation:
    """The state of a run after its events, in order; not thread-safe."""

    def __init__(self, keep: int | None = None) -> None:
        self._keep = keep
        self.records = 0
        self.transactions = 0
        self.lanes: dict[Lane, LaneHistory] = {}
        self.leader: deque[StepEvent] = deque(maxlen=keep)
        self.takeovers: list[StepEvent] = []
        """The fencing of each driver that took a query from another one."""
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
        lane = lane_of(event)
        if lane is None:
            self.leader.append(event)
            return
        self.transactional = self.transactional or event.transactional_id is not None
        history = self._history_of(event, lane)
        if event.step in _MICRO_BATCH:
            self._track_batch(history, event)
        else:
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

    def _history_of(self, event: StepEvent, lane: Lane) -> LaneHistory:
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

    def _track_batch(self, history: LaneHistory, event: StepEvent) -> None:
        history.of_query = self.transactional = True
        if event.step is TaskStep.FENCE_BATCH and event.task is None and event.generation:
            known = {(each.connector, each.generation) for each in self.takeovers}
            self.takeovers += [] if (event.connector, event.generation) in known else [event]
        if event.transaction is None:
            return  # a plan, which has no batch yet
        self._open_batch(history, event)
        history.records = _count(event, history.records)
        history.published = history.published or event.step is TaskStep.PUBLISH_BATCH
        if event.step is TaskStep.STAGED_BATCH and not history.published:
            self._close(history, event.at, Outcome.STAGED)
        elif event.step is TaskStep.COMMITTED_BATCH:
            self._end_batch(history, event)

    def _open_batch(self, history: LaneHistory, event: StepEvent) -> None:
        begun = history.opened
        again = event.step is TaskStep.FENCE_BATCH and history.published
        if begun is not None and (again or begun.transaction != event.transaction):
            # who fences again aborts what it has begun; a driver that was replaced does so since it was fenced
            replaced = history.lane.generation < self.generations.get(event.connector, 0)
            if again and replaced:
                self.zombies.setdefault(history.lane, event)
            self._close(history, event.at, (Outcome.FENCED if replaced else Outcome.ABORTED) if again else Outcome.OPEN)
        if history.opened is None:
            history.opened, history.published = event, False
            self._replace_attempts(history.lane, event)

    def _replace_attempts(self, lane: Lane, event: StepEvent) -> None:
        """The earlier attempts of a task are lost where they hold its batch open."""
        for number in range(lane.attempt):
            earlier = self.lanes.get(lane._replace(attempt=number))
            if earlier is not None and earlier.opened is not None and earlier.opened.transaction == event.transaction:
                self._close(earlier, event.at, Outcome.OPEN)

    def _end_batch(self, history: LaneHistory, event: StepEvent) -> None:
        if event.detail.get("outcome") == "skipped":
            self._close(history, event.at, Outcome.SKIPPED)
            return
        self.records += history.records
        self.transactions += 1
        self._close(history, event.at, Outcome.COMMITTED)

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
