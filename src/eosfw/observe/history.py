"""The history of a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import ClassVar

from eosfw.concurrency import Runtime
from eosfw.observe.event_aggregation import EventAggregation, Lane, LaneHistory, OpenTask, Transaction
from eosfw.observe.event_json import event_to_json
from eosfw.state.steps import StepEvent


class History:
    """An observer that keeps events and aggregates them as they come; thread-safe.

    The counts are of the whole run. Of events, and of each lane's transactions, only the last `keep` stay in memory.
    """

    name: ClassVar[str] = "history"

    def __init__(self, runtime: Runtime, *, keep: int | None = 200_000) -> None:
        self._runtime = runtime
        self._lock = runtime.lock()
        self._events: deque[StepEvent] = deque(maxlen=keep)
        self._aggregation = EventAggregation(keep)

    def observe(self, event: StepEvent) -> None:
        with self._lock:
            self._events.append(event)
            self._aggregation.add(event)

    # --- counts

    @property
    def records(self) -> int:
        """Committed task records."""
        return self._aggregation.records

    @property
    def transactions(self) -> int:
        """Committed task transactions."""
        return self._aggregation.transactions

    @property
    def zombies_fenced(self) -> int:
        """Replaced producers that received a fencing error themselves."""
        return len(self._aggregation.zombies)

    # --- events

    def events(self) -> tuple[StepEvent, ...]:
        """The events that are kept, oldest first."""
        with self._lock:
            return tuple(self._events)

    def zombies(self) -> dict[Lane, StepEvent]:
        """The fenced zombies, each with the event of its fencing."""
        with self._lock:
            return dict(self._aggregation.zombies)

    def last_steps(self) -> dict[Lane, StepEvent]:
        """The last step of every task of every generation."""
        with self._lock:
            return {lane: lane_history.last for lane, lane_history in self._aggregation.lanes.items()}

    def open_transactions(self) -> tuple[OpenTask, ...]:
        """Every transaction that its task has begun and not ended, oldest first."""
        now = self._runtime.now()
        with self._lock:
            lane_histories = tuple(self._aggregation.lanes.values())
            found = [
                _open(lane_history, lane_history.opened, now)
                for lane_history in lane_histories
                if lane_history.opened is not None
            ]
        return tuple(sorted(found, key=lambda task: -task.age))

    def oldest_open_transaction(self) -> OpenTask | None:
        """The transaction that has been open longest, if any is open."""
        return next(iter(self.open_transactions()), None)

    def completed(self) -> tuple[Transaction, ...]:
        """The transactions that ended, lane by lane."""
        with self._lock:
            return tuple(
                done for lane_history in self._aggregation.lanes.values() for done in lane_history.transactions
            )

    def aggregation(self) -> EventAggregation:
        """A new aggregation of the kept events with the counts of the whole run; later events do not change it."""
        with self._lock:
            events, records, transactions = (
                tuple(self._events),
                self._aggregation.records,
                self._aggregation.transactions,
            )
            zombies = dict(self._aggregation.zombies)
        # Outside the lock, which every task takes at every step: this may take seconds for a long run.
        again = EventAggregation()
        for event in events:
            again.add(event)
        again.records, again.transactions, again.zombies = records, transactions, zombies
        return again

    def lines(self) -> Iterable[str]:
        """The events as JSON lines."""
        return map(event_to_json, self.events())


def _open(lane_history: LaneHistory, begun: StepEvent, now: float) -> OpenTask:
    return OpenTask(
        lane_history.lane, begun.transactional_id, begun.transaction, lane_history.records, max(0.0, now - begun.at)
    )
