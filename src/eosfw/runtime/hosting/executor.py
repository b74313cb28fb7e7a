"""Running tasks, and the tasks that did not stop in time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from eosfw.concurrency import Runtime
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.group.protocols import Assignment
from eosfw.runtime.hosting.thread_launcher import RunningTask, TaskLauncher, ThreadLauncher
from eosfw.runtime.status import ConnectorStatus, TaskStatus
from eosfw.runtime.tasks.services import WorkerServices

ABORT_TIMEOUT = 1.0
"""Seconds for all tasks together to abort their open transactions when the worker is killed."""
KILL_TIMEOUT = 1.0
"""Seconds for all tasks together to end after their clients were closed."""

MOST_RETIRED = 1000
"""How many tasks that have ended keep their status: each holds its error, and a worker may run for years."""


class TaskExecutor:
    """The `TaskRunner` of this process (the tasks of Kafka Connect's `Worker`), by default with a thread per task.

    Control calls come from one thread at a time; `kill`, and what reads, from any.

    With `cancels`, a task that does not stop in time is cancelled. Else it keeps its clients: it may sleep anywhere and
    wake at any time, and then fencing must stop it, as it would stop a task on another machine. So pytest-eos tests
    fencing within one process.
    """

    def __init__(
        self, services: WorkerServices, graceful_timeout: float, launcher: TaskLauncher | None = None, *, cancels: bool
    ) -> None:
        self._services, self._runtime = services, services.runtime
        self._graceful_timeout, self._cancels = graceful_timeout, cancels
        self._launcher = launcher or ThreadLauncher(services)
        self._lock = self._runtime.lock()
        """Guards what follows; never held while a task starts or stops, or `kill` would wait for that."""
        self._current: dict[str, tuple[int, list[RunningTask]]] = {}
        self._retired: list[RunningTask] = []
        self._dropped = 0
        """How often every task was stopped at once."""
        self._killed = False

    def start_generation(self, assignment: Assignment, *, paused: bool = False) -> None:
        running = self._launch(self._without_known(assignment), paused=paused)
        with self._lock:
            generation, beside = self._current.get(assignment.connector, (0, []))
            others = beside if generation == assignment.generation else []
            self._current[assignment.connector] = (assignment.generation, _sorted([*others, *running]))
        self._kill_late()

    def _without_known(self, assignment: Assignment) -> Assignment:
        """The tasks that are not here yet: whoever could not start all of them starts them all again."""
        with self._lock:
            generation, running = self._current.get(assignment.connector, (0, []))
        known = {one.task.id.task for one in running} if generation == assignment.generation else set()
        return replace(assignment, tasks=[task for task in assignment.tasks if task not in known])

    def _launch(self, assignment: Assignment, *, paused: bool) -> Sequence[RunningTask]:
        return self._launcher.launch(self._services.planner.assigned_tasks(assignment), paused=paused)

    def stop_generation(self, connector: str) -> None:
        with self._lock:
            # Moved before they are stopped, in one step: a status asked meanwhile has each task once.
            _, running = self._current.pop(connector, (0, []))
            self._retire(running)
        self._stop_or_leave_behind(running)

    def stop_tasks(self, tasks: Collection[ConnectorTaskId]) -> None:
        self._stop_or_leave_behind(self._take(tasks))

    def stop_at_once(self) -> None:
        with self._lock:
            self._dropped += 1
        # Without a wait: others may own these tasks by now, and whoever calls is the thread that tells the group so.
        taken = self._take([one.task.id for one in self._all_tasks()])
        for one in taken:
            one.task.trigger_stop()
        alive = [one for one in taken if one.thread.is_alive()]
        if alive and not self._killed:
            deadline = self._runtime.now() + self._graceful_timeout
            self._runtime.spawn("eosfw-dropped", lambda: self._leave_behind_at(deadline, alive))

    def _take(self, tasks: Collection[ConnectorTaskId]) -> list[RunningTask]:
        taken: list[RunningTask] = []
        with self._lock:
            for connector in {task.connector for task in tasks} & self._current.keys():
                generation, running = self._current.pop(connector)
                taken += [one for one in running if one.task.id in tasks]
                # Of a connector that has no task here any more this worker knows nothing: others may run it.
                if left := [one for one in running if one.task.id not in tasks]:
                    self._current[connector] = (generation, left)
            self._retire(taken)
        return taken

    def restart_tasks(
        self, connector: str, tasks: Collection[int], *, paused: bool = False, ended: bool = True
    ) -> None:
        """Stop some tasks of a connector and start them again in their generation; others go on (KAFKA-13719).

        Without `ended`, those that have ended, maybe by a failure, stay so.
        """
        with self._lock:
            generation, running = self._current.get(connector, (0, []))
            old = [one for one in running if one.task.id.task in tasks and (ended or one.thread.is_alive())]
            if not old:
                return
            # Moved before they are stopped, in one step: a status asked meanwhile has each task once.
            kept = [one for one in running if one not in old]
            self._current[connector] = (generation, kept)
            self._retire(old)
            dropped = self._dropped
        self._stop_or_leave_behind(old)
        assignment = Assignment(connector, generation, [one.task.id.task for one in old])
        new: Sequence[RunningTask] = old  # if no others can be started: whoever asks again finds those that have ended
        try:
            new = self._launch(assignment, paused=paused)
        finally:
            with self._lock:
                is_own = self._dropped == dropped
                if is_own:
                    self._retired = [one for one in self._retired if one not in new]
                    self._current[connector] = (generation, _sorted([*kept, *new]))
                elif new is not old:
                    self._retire(new)
            self._kill_late()
        if not is_own:  # everything was stopped at once meanwhile: others may own these tasks
            for one in new:
                one.task.trigger_stop()

    def _stop_or_leave_behind(self, running: Sequence[RunningTask]) -> None:
        deadline = self._runtime.now() + self._graceful_timeout
        _stop(running, deadline, self._runtime)
        # If the connector has another offsets topic from now on, the next tasks know the copies alone.
        self._services.worker_offsets.backup.flush(max(0.0, deadline - self._runtime.now()))
        self._leave_behind(running)

    def _leave_behind_at(self, deadline: float, running: Sequence[RunningTask]) -> None:
        for one in running:
            one.thread.join(max(0.0, deadline - self._runtime.now()))
        self._leave_behind(running)

    def _leave_behind(self, running: Sequence[RunningTask]) -> None:
        for one in running:
            if one.thread.is_alive():
                one.task.leave_behind()
                if self._cancels:
                    # On a thread of its own: a client whose cluster is gone may take its time to close.
                    self._runtime.spawn(f"eosfw-cancel-{one.task.id}", one.task.cancel)

    def pause(self, connector: str) -> None:
        """Ask the connector's tasks of this worker to pause; do not wait, a task reports PAUSED once it has.

        A task finishes its batch, commits its open transaction and polls no more. With connector boundaries it commits
        only what the connector asked for: otherwise it aborts, and starts over from its committed offsets when it is
        resumed. Pausing what is paused, or a connector without tasks here, does nothing.
        """
        for one in self._tasks_of(connector):
            one.task.pause()

    def resume(self, connector: str) -> None:
        """Ask the connector's tasks to go on; a transaction interval begins anew. Else as `pause`."""
        for one in self._tasks_of(connector):
            one.task.resume()

    def stop(self, timeout: float) -> None:
        """Stop every task cleanly within `timeout` seconds, then kill those that did not stop."""
        _stop(self._all_tasks(), self._runtime.now() + timeout, self._runtime)
        # Also after a clean stop: a task that still hangs would keep its clients, and its transaction open.
        self.kill()

    def kill(self) -> None:
        """Abort open transactions where that is possible at once, then close every client."""
        self._killed = True
        alive = [one for one in self._all_tasks() if one.thread.is_alive()]
        # One deadline for all of them: many tasks that hang must not add up.
        deadline = self._runtime.now() + ABORT_TIMEOUT
        for one in alive:
            one.task.kill(max(0.0, deadline - self._runtime.now()))
        deadline = self._runtime.now() + KILL_TIMEOUT
        for one in alive:
            one.thread.join(max(0.0, deadline - self._runtime.now()))

    def _kill_late(self) -> None:
        """End tasks that were started while the worker was stopped, or killed: nobody else will."""
        if self._killed:
            self.kill()

    def connectors(self) -> dict[str, ConnectorStatus]:
        """The status of every connector's newest generation."""
        with self._lock:
            current = dict(self._current)
        return {
            name: ConnectorStatus(name, generation, tuple(one.task.status() for one in running))
            for name, (generation, running) in current.items()
        }

    def replaced(self) -> tuple[tuple[TaskStatus, ...], tuple[TaskStatus, ...]]:
        """Tasks of replaced generations: first those that still run (zombies), then those that ended."""
        with self._lock:
            retired = list(self._retired)
        zombies = tuple(one.task.status() for one in retired if one.thread.is_alive())
        return zombies, tuple(one.task.status() for one in retired if not one.thread.is_alive())

    def _retire(self, running: Sequence[RunningTask]) -> None:
        """Keep tasks for their status; of those that have ended only the newest, as a worker may run for years."""
        ended = [one for one in self._retired if not one.thread.is_alive()]
        forgotten = set(map(id, ended[:-MOST_RETIRED]))
        self._retired = [one for one in self._retired if id(one) not in forgotten] + list(running)

    def _tasks_of(self, connector: str) -> list[RunningTask]:
        with self._lock:
            return self._current.get(connector, (0, []))[1]

    def _all_tasks(self) -> list[RunningTask]:
        with self._lock:
            return [one for _, running in self._current.values() for one in running] + self._retired


def _sorted(running: Iterable[RunningTask]) -> list[RunningTask]:
    return sorted(running, key=lambda one: one.task.id)


def _stop(running: Iterable[RunningTask], deadline: float, runtime: Runtime) -> None:
    running = list(running)
    for one in running:
        one.task.trigger_stop()
    for one in running:
        one.thread.join(max(0.0, deadline - runtime.now()))
