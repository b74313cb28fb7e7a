"""The tasks that are assigned to this worker, in the state that the group wants (part of `DistributedHerder`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from eosfw.concurrency import FairLock, Runtime
from eosfw.errors import RequestTimeoutError
from eosfw.ids import ConnectorTaskId
from eosfw.runtime.group.protocols import Assignment
from eosfw.runtime.hosting.executor import TaskExecutor
from eosfw.runtime.storage.config_topic import ConfigTopic
from eosfw.state.storage.config_records import PAUSED

_LOCK_TIMEOUT = 90.0
"""Seconds that a call waits while other tasks are stopped, as Connect's REST operations do (CFG-10)."""


class AssignedTasks:
    """The `TaskRunner` of a worker in a group: one control call at a time, from any thread."""

    def __init__(self, executor: TaskExecutor, topic: ConfigTopic, runtime: Runtime) -> None:
        self._executor, self._topic, self._runtime = executor, topic, runtime
        self._control = FairLock(runtime)
        self._paused: dict[str, bool] = {}
        """By connector that has tasks here: whether they were asked to pause."""
        self._followed = 0
        """The version of the config topic by which target states were followed last."""

    def start_generation(self, assignment: Assignment) -> None:
        with self._exclusively():
            # Paused from the start, a task asks for no fencing and initialises no producer until it is resumed.
            self._paused[assignment.connector] = paused = self._is_to_pause(assignment.connector)
            self._executor.start_generation(assignment, paused=paused)

    def stop_tasks(self, tasks: Collection[ConnectorTaskId]) -> None:
        with self._exclusively():
            self._executor.stop_tasks(tasks)

    def stop_at_once(self) -> None:
        self._executor.stop_at_once()

    def follow_target_states(self) -> None:
        """Pause or resume the tasks of each connector whose target state has changed."""
        changes = self._topic.changes_since(self._followed)
        changed = [one for one in changes.names if one in self._paused and self._is_to_pause(one) != self._paused[one]]
        if changed:
            with self._exclusively():
                for connector in changed:
                    self._follow_target_state(connector)
        self._followed = changes.version

    def _follow_target_state(self, connector: str) -> None:
        wanted = self._is_to_pause(connector)
        # Asked again under the lock: the connector may have been stopped, or started in this state, meanwhile.
        if self._paused.get(connector, wanted) != wanted:
            self._paused[connector] = wanted
            (self._executor.pause if wanted else self._executor.resume)(connector)

    def restart(self, connector: str, tasks: Collection[int], *, ended: bool = True) -> None:
        """Stop tasks and start them again in their generation; those that do not run here are left out.

        Without `ended`, those that have ended stay so.
        """
        with self._exclusively():
            self._executor.restart_tasks(connector, tasks, paused=self._is_to_pause(connector), ended=ended)

    def _is_to_pause(self, connector: str) -> bool:
        return self._topic.entry(connector).target_state == PAUSED

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        with self._control.held(self._runtime.now() + _LOCK_TIMEOUT) as mine:
            if not mine:
                raise RequestTimeoutError(f"other tasks of this worker were stopped for {_LOCK_TIMEOUT:g} s")
            yield
