"""Where tasks run: each on a thread of the worker's process, or in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from eosfw.concurrency import Spawned
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.status import TaskStatus
from eosfw.runtime.tasks.plan import AssignedTask
from eosfw.runtime.tasks.services import WorkerServices
from eosfw.runtime.tasks.task import WorkerTask


class LaunchedTask(Protocol):
    """What other threads ask of a task that runs; each method is described at `WorkerTask`."""

    id: ConnectorTaskId

    def status(self) -> TaskStatus:
        """The status now."""

    def trigger_stop(self) -> None:
        """Ask it to commit and end."""

    def pause(self) -> None:
        """Ask it to commit and wait."""

    def resume(self) -> None:
        """Ask it to go on."""

    def leave_behind(self) -> None:
        """Note that it did not stop in time."""

    def cancel(self) -> None:
        """Close its clients."""

    def kill(self, abort_within: float) -> None:
        """Abort its open transaction if that is possible, then close its clients."""


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task and what it runs on."""

    task: LaunchedTask
    thread: Spawned


class TaskLauncher(Protocol):
    """Starts tasks; called by the worker's control thread."""

    def launch(self, tasks: Sequence[AssignedTask], *, paused: bool) -> Sequence[RunningTask]:
        """Start tasks of one generation of one connector; do not wait for them."""

    def close(self) -> None:
        """End whatever tasks run on; they have ended, or were killed."""


LauncherFactory = Callable[[WorkerServices], TaskLauncher]


class ThreadLauncher:
    """A thread of this process for each task."""

    def __init__(self, services: WorkerServices) -> None:
        self._services = services

    def launch(self, tasks: Sequence[AssignedTask], *, paused: bool) -> Sequence[RunningTask]:
        started: list[RunningTask] = []
        try:
            started.extend(self._start(task, paused=paused) for task in tasks)  # one by one: an error leaves the others
        except BaseException:  # such as no more threads
            # Nobody knows of these, so nobody else can stop them.
            for one in started:
                one.task.trigger_stop()
            raise
        return started

    def _start(self, assigned: AssignedTask, *, paused: bool) -> RunningTask:
        task = WorkerTask(assigned, self._services, paused=paused)
        name = f"eosfw-{assigned.id}-g{assigned.generation}"
        return RunningTask(task, self._services.runtime.spawn(name, task.run))

    def close(self) -> None:
        """Nothing is left: threads end with their tasks."""
