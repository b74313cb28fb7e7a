"""The scenario of the demo: a task is frozen in its transaction, replaced, and woken as a zombie."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.observe import Freeze, Gate, Lane, Outcome, StepEvent, TaskStep
from eosfw.observe.timeline import fenced_ids
from eosfw_demo.environment import DemoEnvironment, StuckError
from eosfw_demo.progress import Progress

TASKS = 4
SUCCESSOR_TASKS = 3
"""Tasks of the second generation; fewer, so that files change their task."""
PARTITIONS = 4
BATCH = 2000
VICTIM = 1
FREEZE_AT = 1 / 3
"""The share of its file that the victim has committed when it is frozen; the rest is left to its successors."""
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
    environment: DemoEnvironment, files: Sequence[Path], records: int, progress: Progress
) -> ScenarioResult:
    """Run the flights through the tasks, with a zombie; return when all of them are committed."""
    connector = environment.names.connector
    victim = ConnectorTaskId(connector, VICTIM)
    # Before the step send-offsets: in both modes its records are sent and their offsets are not.
    gate = environment.gates.freeze(
        TaskStep.SEND_OFFSETS, task=victim, when=lambda _: _victim_is_due(environment, records)
    )
    started = environment.run.runtime.now()
    first = _start_together(environment, files)
    progress.log(f"generation {first}: {TASKS} tasks read {TASKS} files")
    environment.until(gate.reached.is_set, f"task {victim} comes to its gate")
    held = _open_records(environment, gate)
    progress.log(f"task {VICTIM} is frozen with {held:,} records sent and their offsets not")

    second = environment.worker.put_connector(connector, properties(environment, files, SUCCESSOR_TASKS))
    progress.log(f"generation {second}: its {SUCCESSOR_TASKS} tasks take over all {TASKS} files")
    left = records - _committed(environment, first)
    environment.until(lambda: _committed(environment, second) >= WAKE_AT * left, "the new generation is at work")
    progress.log(f"task {VICTIM} of generation {first} is woken")
    lane = Lane(connector, first, VICTIM)
    with _client_logs_dropped():
        gate.open()
        environment.until(lambda: environment.history.last_steps()[lane].step in _ENDS, "the zombie meets its end")
    environment.until(lambda: environment.worker.drained(idle=5.0), "every file is read to its end")
    environment.worker.stop()
    progress.log(f"all files are at their end: {environment.history.records:,} records committed")
    return _result(environment, gate, held, (first, second), started)


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


def properties(environment: DemoEnvironment, files: Sequence[Path], tasks: int) -> dict[str, str]:
    """The properties of the connector; each value is an unchanged CSV line."""
    return {
        "connector.class": "file",
        "tasks.max": str(tasks),
        "file": str(files[0].parent),
        "format": "csv",
        "value": "raw",
        "topic": environment.names.topic,
        "batch.size": str(BATCH),
        "topic.creation.default.partitions": str(PARTITIONS),
        "eosfw.identity": "value",
    }


def _start_together(environment: DemoEnvironment, files: Sequence[Path]) -> int:
    """Start the first generation; each task waits before its first poll until all tasks have started."""
    gates = [environment.gates.freeze(TaskStep.POLL, task=number) for number in range(TASKS)]
    first = environment.worker.put_connector(environment.names.connector, properties(environment, files, TASKS))
    environment.until(lambda: all(gate.reached.is_set() for gate in gates), f"all {TASKS} tasks have started")
    for gate in gates:
        gate.open()
    return first


def _victim_is_due(environment: DemoEnvironment, records: int) -> bool:
    """Whether the victim has committed the share after which it is frozen."""
    done = sum(one.records for one in environment.history.completed() if one.lane.task == VICTIM)
    return done >= FREEZE_AT * records / TASKS


def _committed(environment: DemoEnvironment, generation: int) -> int:
    done = environment.history.completed()
    return sum(one.records for one in done if one.lane.generation == generation and one.outcome is Outcome.COMMITTED)


def _open_records(environment: DemoEnvironment, gate: Gate) -> int:
    held = [task for task in environment.history.open_transactions() if gate.event and task.lane.task == VICTIM]
    if not held or not held[0].records:
        raise StuckError(f"task {VICTIM} was frozen without records in its transaction; nothing would be shown")
    return held[0].records


def _result(
    environment: DemoEnvironment, gate: Gate, held: int, generations: tuple[int, int], started: float
) -> ScenarioResult:
    victim = ConnectorTaskId(environment.names.connector, VICTIM)
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
        fencing=environment.history.zombies().get(Lane(victim.connector, generations[0], VICTIM)),
        started=started,
    )
