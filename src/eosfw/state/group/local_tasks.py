"""Which tasks of a worker must stop and start, when its assignment or their configurations have changed (FEN-12)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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


def local_tasks(assigned: Iterable[ConnectorTaskId], entry: Callable[[str], ConnectorEntry]) -> LocalTasks:
    """The assigned tasks that the config topic has a configuration for, in their connectors' newest generations."""
    found = {}
    for task in assigned:
        configured = entry(task.connector)
        if configured.generation is not None and task.task < len(configured.tasks):
            found[task] = configured.generation
    return found


def by_connector(tasks: Collection[ConnectorTaskId]) -> Mapping[str, Sequence[ConnectorTaskId]]:
    """Tasks by their connectors."""
    found: dict[str, list[ConnectorTaskId]] = {}
    for task in tasks:
        found.setdefault(task.connector, []).append(task)
    return found


def plan_changes(running: LocalTasks, wanted: LocalTasks) -> LocalChange:
    """What has to happen so that the wanted tasks run, each in its generation."""
    # A task of another generation stops as well: its configuration may be another one, and it would be fenced.
    stop = frozenset(task for task, generation in running.items() if wanted.get(task) != generation)
    starting: dict[tuple[str, int], list[int]] = {}
    for task, generation in sorted(wanted.items()):
        if running.get(task) != generation:
            starting.setdefault((task.connector, generation), []).append(task.task)
    return LocalChange(stop, tuple(TasksToStart(*key, tasks) for key, tasks in starting.items()))
