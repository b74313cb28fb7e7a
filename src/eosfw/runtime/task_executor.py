"""Run tasks as threads, keep track of those that do not stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eosfw.concurrency import Runtime, Spawned
from eosfw.runtime.status import ConnectorStatus, TaskStatus
from eosfw.runtime.task_plan import TaskPlan, WorkerServices
from eosfw.runtime.worker_task import WorkerTask

ABORT_TIMEOUT = 1.0
"""Seconds in which the producers of tasks that do not stop may abort, all together."""
KILL_TIMEOUT = 1.0
"""How long a task whose clients were closed gets to notice."""


@dataclass(frozen=True, slots=True)
class _Running:
    task: WorkerTask
    thread: Spawned


class TaskExecutor:
    """The tasks of this worker. Control calls come from one thread at a time; `kill` and what reads, from any."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._lock = runtime.lock()
        self._current: dict[str, tuple[int, list[_Running]]] = {}
        self._retired: list[_Running] = []

    def start(self, connector: str, generation: int, plans: Sequence[TaskPlan], services: WorkerServices) -> None:
        """Start a connector's tasks; nobody waits for them."""
        tasks = [WorkerTask(plan, services) for plan in plans]
        running = [
            _Running(task, self._runtime.spawn(f"eosfw-{task.plan.id}-g{generation}", task.run)) for task in tasks
        ]
        with self._lock:
            self._current[connector] = (generation, running)

    def stop_generation(self, connector: str, timeout: float) -> None:
        """Have a connector's tasks stop, all within `timeout`; those that do not are left behind as zombies.

        Nothing is taken from a zombie: it may sleep anywhere, wake at any time, and must meet fencing then.
        """
        with self._lock:
            _, running = self._current.pop(connector, (0, []))
            self._retired += running
        _stop(running, self._runtime.now() + timeout, self._runtime)

    def stop(self, timeout: float) -> None:
        """Have every task stop cleanly, then close the clients of those that did not."""
        _stop(self._all_tasks(), self._runtime.now() + timeout, self._runtime)
        self.kill()

    def kill(self) -> None:
        """Close every client, once open transactions are aborted where that is possible at once."""
        alive = [one for one in self._all_tasks() if one.thread.is_alive()]
        deadline = self._runtime.now() + ABORT_TIMEOUT
        for one in alive:
            one.task.kill(max(0.0, deadline - self._runtime.now()))
        deadline = self._runtime.now() + KILL_TIMEOUT
        for one in alive:
            one.thread.join(max(0.0, deadline - self._runtime.now()))

    def connectors(self) -> dict[str, ConnectorStatus]:
        """Every connector's newest generation."""
        with self._lock:
            current = dict(self._current)
        return {
            name: ConnectorStatus(name, generation, tuple(one.task.status() for one in running))
            for name, (generation, running) in current.items()
        }

    def replaced(self) -> tuple[tuple[TaskStatus, ...], tuple[TaskStatus, ...]]:
        """Zombies, then tasks of replaced generations that ended."""
        with self._lock:
            retired = list(self._retired)
        zombies = tuple(one.task.status() for one in retired if one.thread.is_alive())
        return zombies, tuple(one.task.status() for one in retired if not one.thread.is_alive())

    def _all_tasks(self) -> list[_Running]:
        with self._lock:
            return [one for _, running in self._current.values() for one in running] + self._retired


def _stop(running: Iterable[_Running], deadline: float, runtime: Runtime) -> None:
    running = list(running)
    for one in running:
        one.task.trigger_stop()
    for one in running:
        one.thread.join(max(0.0, deadline - runtime.now()))
