"""The scenario of the demo: a task is frozen in its transaction, replaced, and woken as a zombie."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.observe import Freeze, Gate, Lane, Outcome, StepEvent, TaskStep
from eosfw.observe.timeline import fenced_ids
from eosfw_demo.environment import DemoEnvironment, StuckError
from eosfw_demo.progress import Progress
from eosfw_demo.sources import Plan

WAKE_AT = 1 / 2
"""The share of the rest that its successors have committed when it is woken, while they still work."""


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """The result of the scenario."""

    victim: ConnectorTaskId
    transactional_id: str
    freeze: Freeze
    open_records: int
    generations: tuple[int, int]
    fenced_ids: Sequence[str]
    fencing: StepEvent | None
    """The zombie's own fencing error; None if it was never fenced."""
    started: float
    """On the runtime's clock, as all times here."""


def run_scenario(
    environment: DemoEnvironment, plan: Plan, check_source: Callable[[], None], progress: Progress
) -> ScenarioResult:
    """Run the records through the tasks, with a zombie; return when all of them are committed."""

    def until(happened: Callable[[], bool], what: str) -> None:
        def checked() -> bool:
            check_source()
            return happened()

        environment.until(checked, what)

    connector, number = environment.names.connector, plan.victim
    victim = ConnectorTaskId(connector, number)
    # Before the step send-offsets: in both modes its records are sent and their offsets are not.
    gate = environment.gates.freeze(
        TaskStep.SEND_OFFSETS, task=victim, when=lambda _: _committed(environment, task=number) >= plan.freeze_after
    )
    started = environment.run.runtime.now()
    first = _start_together(environment, plan)
    progress.log(f"generation {first}: {plan.reads}")
    until(gate.reached.is_set, f"task {victim} comes to its gate")
    held = _open_records(environment, gate, number)
    progress.log(f"task {number} is frozen with {held:,} records sent and their offsets not")

    second = environment.worker.put_connector(connector, dict(plan.second))
    progress.log(f"generation {second}: {plan.takes_over}")
    # Whatever the first generation has committed without its zombie is committed by now.
    left = plan.records - _committed(environment, generation=first)
    until(lambda: _committed(environment, generation=second) >= WAKE_AT * left, "the new generation is at work")
    progress.log(f"task {number} of generation {first} is woken")
    lane = Lane(connector, first, number)
    with _client_logs_dropped():
        gate.open()
        until(lambda: environment.history.last_steps()[lane].step in _ENDS, "the zombie meets its end")
    until(lambda: _committed(environment, generation=second) >= left, "all records are committed")
    until(lambda: environment.worker.drained(idle=5.0), "the source is read to its end")
    environment.worker.stop()
    progress.log(f"{plan.ended}: {environment.history.records:,} records committed")
    return _result(environment, gate, victim, held, (first, second), started)


@contextmanager
def _client_logs_dropped() -> Iterator[None]:
    """Drop log records of other libraries: a zombie's client logs its fencing as a fatal error, which the demo expects.

    No error is lost: a call that fails raises an exception.
    """
    handlers = list(logging.getLogger().handlers)

    def from_framework(record: logging.LogRecord) -> bool:
        return record.name.split(".")[0] == "eosfw"

    for handler in handlers:
        handler.addFilter(from_framework)
    try:
        yield
    finally:
        for handler in handlers:
            handler.removeFilter(from_framework)


_ENDS = frozenset({TaskStep.FENCED, TaskStep.SUPERSEDED, TaskStep.FAILED, TaskStep.STOPPED})


def _start_together(environment: DemoEnvironment, plan: Plan) -> int:
    """Start the first generation; each task waits before its first poll until all tasks have started."""
    gates = [environment.gates.freeze(TaskStep.POLL, task=number) for number in range(plan.tasks)]
    first = environment.worker.put_connector(environment.names.connector, dict(plan.first))
    environment.until(lambda: all(gate.reached.is_set() for gate in gates), f"{plan.tasks} tasks have started")
    for gate in gates:
        gate.open()
    return first


def _committed(environment: DemoEnvironment, *, generation: int | None = None, task: int | None = None) -> int:
    """The records that were committed, of a generation or of a task."""
    return sum(
        one.records
        for one in environment.history.completed()
        if one.outcome is Outcome.COMMITTED
        and generation in (None, one.lane.generation)
        and task in (None, one.lane.task)
    )


def _open_records(environment: DemoEnvironment, gate: Gate, victim: int) -> int:
    held = [task for task in environment.history.open_transactions() if gate.event and task.lane.task == victim]
    if not held or not held[0].records:
        raise StuckError(f"task {victim} was frozen without records in its transaction; nothing would be shown")
    return held[0].records


def _result(
    environment: DemoEnvironment,
    gate: Gate,
    victim: ConnectorTaskId,
    held: int,
    generations: tuple[int, int],
    started: float,
) -> ScenarioResult:
    if gate.freeze is None:
        raise StuckError(f"the gate for {gate} never fired")
    rounds = [event for event in environment.history.events() if event.step is TaskStep.FENCE_ZOMBIES]
    ids = [name for event in rounds if event.generation == generations[1] for name in fenced_ids(event)]
    return ScenarioResult(
        victim=victim,
        transactional_id=task_transactional_id(environment.names.group, victim),
        freeze=gate.freeze,
        open_records=held,
        generations=generations,
        fenced_ids=ids,
        fencing=environment.history.zombies().get(Lane(victim.connector, generations[0], victim.task)),
        started=started,
    )
