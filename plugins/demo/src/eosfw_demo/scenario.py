"""Make a zombie on purpose: freeze a task in its transaction, replace its generation, wake it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.observe import Freeze, Gate, Lane, Outcome
from eosfw.observe.timeline.annotations import fenced_ids
from eosfw.state.steps import StepEvent, TaskStep
from eosfw_demo.hush import clients_hushed
from eosfw_demo.progress import Progress
from eosfw_demo.stage import Stage, StuckError

TASKS = 4
FEWER = 3
"""Tasks of the second generation: so files really change hands."""
PARTITIONS = 4
BATCH = 2000
VICTIM = 1
FROZEN_AT = 1 / 3
"""Share of its file that the victim has committed when it is frozen; its successors find enough left to do."""
WOKEN_AT = 1 / 2
"""Share of what was left that its successors have committed when it is woken: they are hard at work."""


@dataclass(frozen=True, slots=True)
class Drama:
    """What happened on stage."""

    victim: ConnectorTaskId
    transactional_id: str
    freeze: Freeze
    open_records: int
    generations: tuple[int, int]
    fenced_ids: Sequence[str]
    fencing: StepEvent | None
    """The zombie's own fencing error; None if it was never fenced."""
    started: float
    """On the runtime's clock, as all moments of the drama."""


def play(stage: Stage, files: Sequence[Path], records: int, progress: Progress) -> Drama:
    """Run the flights through the tasks, a zombie in the middle; return when all is committed."""
    connector = stage.names.connector
    victim = ConnectorTaskId(connector, VICTIM)
    # Before its offsets are sent: in either mode its records are on their way and nothing says so yet.
    gate = stage.gates.freeze(TaskStep.SEND_OFFSETS, task=victim, when=lambda _: _ripe(stage, records))
    started = stage.run.runtime.now()
    first = _start_together(stage, files)
    progress.say(f"generation {first}: {TASKS} tasks read {TASKS} files")
    stage.until(gate.reached.is_set, f"task {victim} comes to its gate")
    held = _open_records(stage, gate)
    progress.say(f"task {VICTIM} is frozen with {held:,} records sent and their offsets not")

    second = stage.worker.put_connector(connector, properties(stage, files, FEWER))
    progress.say(f"generation {second}: its {FEWER} tasks take over all {TASKS} files")
    left = records - _committed(stage, first)
    stage.until(lambda: _committed(stage, second) >= WOKEN_AT * left, "the new generation is at work")
    progress.say(f"task {VICTIM} of generation {first} is woken")
    lane = Lane(connector, first, VICTIM)
    with clients_hushed():
        gate.open()
        stage.until(lambda: stage.history.last_steps()[lane].step in _ENDS, "the zombie meets its end")
    stage.until(lambda: stage.worker.drained(idle=5.0), "every file is read to its end")
    stage.worker.stop()
    progress.say(f"all files are at their end: {stage.history.records:,} records committed")
    return _tell(stage, gate, held, (first, second), started)


_ENDS = frozenset({TaskStep.FENCED, TaskStep.SUPERSEDED, TaskStep.FAILED, TaskStep.STOPPED})


def properties(stage: Stage, files: Sequence[Path], tasks: int) -> dict[str, str]:
    """The connector, as a pipeline file would have it; each value is a CSV line as it stands."""
    return {
        "connector.class": "file",
        "tasks.max": str(tasks),
        "file": str(files[0].parent),
        "format": "csv",
        "value": "raw",
        "topic": stage.names.topic,
        "batch.size": str(BATCH),
        "topic.creation.default.partitions": str(PARTITIONS),
        "eosfw.identity": "value",
    }


def _start_together(stage: Stage, files: Sequence[Path]) -> int:
    """Start the first generation; hold each task before its first poll until all are there, so that all are at work."""
    gates = [stage.gates.freeze(TaskStep.POLL, task=number) for number in range(TASKS)]
    first = stage.worker.put_connector(stage.names.connector, properties(stage, files, TASKS))
    stage.until(lambda: all(gate.reached.is_set() for gate in gates), f"all {TASKS} tasks have started")
    for gate in gates:
        gate.open()
    return first


def _ripe(stage: Stage, records: int) -> bool:
    """Whether the victim has done its share."""
    done = sum(one.records for one in stage.history.completed() if one.lane.task == VICTIM)
    return done >= FROZEN_AT * records / TASKS


def _committed(stage: Stage, generation: int) -> int:
    done = stage.history.completed()
    return sum(one.records for one in done if one.lane.generation == generation and one.outcome is Outcome.COMMITTED)


def _open_records(stage: Stage, gate: Gate) -> int:
    held = [task for task in stage.history.open_transactions() if gate.event and task.lane.task == VICTIM]
    if not held or not held[0].records:
        raise StuckError(f"task {VICTIM} was frozen without records in its transaction; nothing would be shown")
    return held[0].records


def _tell(stage: Stage, gate: Gate, held: int, generations: tuple[int, int], started: float) -> Drama:
    victim = ConnectorTaskId(stage.names.connector, VICTIM)
    if gate.freeze is None:
        raise StuckError(f"the gate for {gate} never fired")
    rounds = [event for event in stage.history.events() if event.step is TaskStep.FENCE_ZOMBIES]
    ids = [name for event in rounds if event.generation == generations[1] for name in fenced_ids(event)]
    return Drama(
        victim=victim,
        transactional_id=task_transactional_id(stage.names.group, victim),
        freeze=gate.freeze,
        open_records=held,
        generations=generations,
        fenced_ids=ids,
        fencing=stage.history.zombies().get(Lane(victim.connector, generations[0], VICTIM)),
        started=started,
    )
