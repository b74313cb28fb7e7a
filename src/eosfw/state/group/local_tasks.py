"""Which tasks of a worker must stop and start, when its assignment or their configurations have changed (FEN-12)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from eosfw.ids import ConnectorTaskId
from eosfw.state.storage.config_log import ConnectorEntry

LocalTasks = Mapping[ConnectorTaskId, int]
"""Each task with the generation of its connector in which it runs."""


@dataclass(frozen=True, slots=True)
class TasksToStart:
    """Tasks of one generation of a connector."""

    connector: str
    generation: int
    tasks: Sequence[int]


@dataclass(frozen=True, slots=True)
class LocalChange:
    """What stops, then what starts; everything else goes on undisturbed."""

    stop: frozenset[ConnectorTaskId]
    start: tuple[TasksToStart, ...]


def local_tasks(assigned: Collection[ConnectorTaskId], connectors: Mapping[str, ConnectorEntry]) -> LocalTasks:
    """The assigned tasks that the config topic has a configuration for, in their connectors' newest generations."""
    found = {}
    for task in assigned:
        entry = connectors.get(task.connector)
        if entry is not None and entry.generation is not None and task.task < len(entry.tasks):
            found[task] = entry.generation
    return found


def plan_changes(running: LocalTasks, wanted: LocalTasks) -> LocalChange:
    """What has to happen so that the wanted tasks run, each in its generation."""
    stop = frozenset(task for task, generation in running.items() if wanted.get(task) != generation)
    starting: dict[tuple[str, int], list[int]] = {}
    for task, generation in sorted(wanted.items()):
        if running.get(task) != generation:
            starting.setdefault((task.connector, generation), []).append(task.task)
    return LocalChange(stop, tuple(TasksToStart(*key, tasks) for key, tasks in starting.items()))
