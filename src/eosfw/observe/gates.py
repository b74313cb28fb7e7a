"""Gates that freeze a task at a named step, which makes a zombie without patching anything (failpoints)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

from eosfw.concurrency import Runtime
from eosfw.ids import ConnectorTaskId
from eosfw.state.steps import StepEvent, TaskStep

Predicate = Callable[[StepEvent], bool]


@dataclass(frozen=True, slots=True)
class Freeze:
    """A task that was frozen before a step: since when, and until when (None while it is frozen)."""

    event: StepEvent
    since: float
    until: float | None


@dataclass(frozen=True, slots=True)
class _Trigger:
    """The announcement that a gate waits for."""

    step: TaskStep
    task: ConnectorTaskId | int | None
    connector: str | None
    when: Predicate | None

    def matches(self, event: StepEvent) -> bool:
        return (
            event.step is self.step
            and (self.connector is None or event.connector == self.connector)
            and (self.task is None or (event.task is not None and self.task in (event.task, event.task.task)))
            and (self.when is None or self.when(event))
        )

    def __str__(self) -> str:
        whom = "any task" if self.task is None else f"task {self.task}"
        return f"{whom} before {self.step.value}" + (f" of connector {self.connector}" if self.connector else "")


class Gate:
    """Blocks the thread that makes the nth matching announcement; all others pass."""

    def __init__(self, trigger: _Trigger, nth: int, runtime: Runtime) -> None:
        self._trigger, self._left, self._runtime = trigger, nth, runtime
        self._lock = runtime.lock()
        self._opened = runtime.event()
        self._until: float | None = None
        self.reached = runtime.event()
        """Set when a task is frozen at the gate."""
        self.event: StepEvent | None = None
        """The announcement that was caught."""

    @property
    def fired(self) -> bool:
        """Whether a task was caught."""
        return self.event is not None

    @property
    def freeze(self) -> Freeze | None:
        """The freeze that the gate caused; None if it caught nothing."""
        return None if self.event is None else Freeze(self.event, self.event.at, self._until)

    def open(self) -> None:
        """Let the frozen task go on and every other pass; may be called twice."""
        with self._lock:
            if not self._opened.is_set():
                self._until = self._runtime.now()
        self._opened.set()

    def hold(self, event: StepEvent) -> None:
        """Block the calling thread if the gate waits for this event."""
        if self._opened.is_set() or not self._catch(event):
            return
        self.reached.set()
        self._opened.wait()

    def _catch(self, event: StepEvent) -> bool:
        # Asked without the lock: most announcements match no gate, and tasks must not wait for one another here.
        if self.fired or not self._trigger.matches(event):
            return False
        with self._lock:
            self._left -= 1
            if self._left != 0:
                return False
            self.event = event
            return True

    def __str__(self) -> str:
        return str(self._trigger)


class Gates:
    """An observer that freezes tasks; closing it opens all gates, so that no task stays frozen."""

    name: ClassVar[str] = "gates"

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._gates: tuple[Gate, ...] = ()

    def freeze(
        self,
        step: TaskStep,
        *,
        task: ConnectorTaskId | int | None = None,
        connector: str | None = None,
        when: Predicate | None = None,
        nth: int = 1,
    ) -> Gate:
        """Add a gate before a step; it catches the nth matching announcement, once."""
        if nth < 1:
            raise ValueError(f"nth counts from 1, not from {nth}")
        gate = Gate(_Trigger(step, task, connector, when), nth, self._runtime)
        self._gates = (*self._gates, gate)
        return gate

    def observe(self, event: StepEvent) -> None:
        for gate in self._gates:
            gate.hold(event)

    def unfired(self) -> tuple[Gate, ...]:
        """Gates that caught no task: a fault that was asked for did not happen."""
        return tuple(gate for gate in self._gates if not gate.fired)

    def freezes(self) -> tuple[Freeze, ...]:
        """All freezes, for the timeline."""
        return tuple(gate.freeze for gate in self._gates if gate.freeze is not None)

    def close(self) -> None:
        """Open every gate."""
        for gate in self._gates:
            gate.open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
