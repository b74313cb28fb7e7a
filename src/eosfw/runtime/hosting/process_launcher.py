"""The launcher of tasks in processes that a host starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from eosfw.errors import EosfwError
from eosfw.ids import ConnectorTaskId
from eosfw.protocols import TaskHostSession, TaskJob, TaskJobSpec
from eosfw.runtime.hosting.connection import ConnectionLostError, TaskConnection
from eosfw.runtime.hosting.hosted_task import Attempt, HostedTask, HostedTaskServices
from eosfw.runtime.hosting.messages import HostedTaskSpec
from eosfw.runtime.hosting.task_server import TaskServer
from eosfw.runtime.hosting.thread_launcher import RunningTask
from eosfw.runtime.tasks.plan import AssignedTask
from eosfw.runtime.tasks.services import WorkerServices
from eosfw.state.steps import StepEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedProcesses:
    """What the processes of every task are given."""

    session: TaskHostSession
    backend: str
    cluster: Mapping[str, str] = field(repr=False)
    """Client properties, as they were written."""
    properties: Mapping[str, str] = field(repr=False)
    """Of the worker."""
    requires: Callable[[str], Mapping[str, str]]
    """The distributions that the tasks of a connector need, with their versions."""
    observe: Callable[[StepEvent], None]
    job_per_task: bool = False
    """Whether each task has a job of its own, so that one which the host gives up ends alone; else all tasks of a
    generation are in one job, which start together or not at all."""


class HostedTaskLauncher:
    """The `TaskLauncher` that has a host start a process for each task.

    A job of the host runs tasks of one generation of one connector. Its processes connect to the worker, as those of
    Spark's `TorchDistributor` do to its `LogStreamingServer`.
    """

    def __init__(self, services: WorkerServices, processes: HostedProcesses) -> None:
        self._services, self._processes = services, processes
        self._lock = services.runtime.lock()
        self._tasks: dict[tuple[str, int, int], HostedTask] = {}
        self._jobs: list[TaskJob] = []
        self._server: TaskServer | None = None
        self._hosted = HostedTaskServices(
            services.runtime,
            self._observe,
            services.leader.fence_zombies,
            self._owns,
            services.plugin_metrics.of_hosted_task,
            self._on_topic,
        )

    def launch(self, tasks: Sequence[AssignedTask], *, paused: bool) -> Sequence[RunningTask]:
        if not tasks:
            return []
        hosted = [HostedTask(task, self._hosted, paused=paused) for task in tasks]
        with self._lock:
            self._tasks.update({(*one.id, task.generation): one for one, task in zip(hosted, tasks, strict=True)})
        if self._processes.job_per_task:
            for task, one in zip(tasks, hosted, strict=True):
                self._submit(f"task {one.id}", [task], [one])
        else:
            self._submit(f"connector {tasks[0].id.connector}, generation {tasks[0].generation}", tasks, hosted)
        return [RunningTask(one, one) for one in hosted]

    def _submit(self, name: str, tasks: Sequence[AssignedTask], hosted: Sequence[HostedTask]) -> None:
        server = self._listening()
        job = TaskJobSpec(
            name,
            [self._spec(task, server).to_json() for task in tasks],
            self._processes.requires(tasks[0].id.connector),
            lambda: sum(one.status().records for one in hosted),
        )
        submitted = self._processes.session.submit(job, lambda error: _end_all(hosted, error))
        with self._lock:
            self._jobs.append(submitted)
        self._services.runtime.spawn("eosfw-job-end", lambda: self._forget_when_ended(hosted, submitted))

    def _forget_when_ended(self, tasks: Sequence[HostedTask], job: TaskJob) -> None:
        """Cancel a job whose tasks have all ended: a process that never came, or was replaced, may still hold a slot.

        A connector may be configured anew for years, so nothing is kept of tasks that no process can come for.
        """
        for task in tasks:
            task.join()
        job.cancel()
        with self._lock:
            self._jobs = [one for one in self._jobs if one is not job]
            # By identity: a task that was restarted has its predecessor's id and generation.
            self._tasks = {key: one for key, one in self._tasks.items() if one not in tasks}

    def _observe(self, event: StepEvent) -> None:
        self._services.measure(event)
        self._processes.observe(event)

    def _on_topic(self, task: ConnectorTaskId, topic: str) -> None:
        if self._services.listener is not None:
            self._services.listener.on_topic(task, topic)

    def _listening(self) -> TaskServer:
        if self._server is None:
            bind_address = self._processes.session.bind_address
            self._server = TaskServer(bind_address, self._serve, self._services.runtime)
        return self._server

    def _spec(self, task: AssignedTask, server: TaskServer) -> HostedTaskSpec:
        processes, services = self._processes, self._services
        return HostedTaskSpec(
            address=(processes.session.address, server.port),
            key=server.key.hex(),
            worker=services.worker,
            connector=task.id.connector,
            task=task.id.task,
            generation=task.generation,
            backend=processes.backend,
            cluster=processes.cluster,
            properties=processes.properties,
            max_transaction_timeout=services.planner.facts.max_transaction_timeout,
            folder=os.getcwd(),
        )

    def _serve(self, connection: TaskConnection) -> None:
        """Serve one process, until it ends."""
        hello = connection.receive() or {}
        task = self._tasks.get((hello.get("connector"), hello.get("task"), hello.get("generation")))  # type: ignore[arg-type]
        attempt = self._attempt(hello, connection)
        with suppress(ConnectionLostError):
            if task is not None and attempt is not None and task.attach(attempt):
                task.serve(attempt)
                return
            connection.send({"refused": True})
        connection.close()

    def _attempt(self, hello: Mapping[str, Any], connection: TaskConnection) -> Attempt | None:
        try:
            shift = self._services.runtime.now() - float(hello["now"])
            return Attempt(int(hello["attempt"]), str(hello["host"]), int(hello["pid"]), connection, shift)
        except (KeyError, TypeError, ValueError):
            return None

    def _owns(self, task: AssignedTask) -> bool:
        entry = self._services.config_topic.entry(task.id.connector)
        return entry.has_generation(task.generation) and self._services.member.is_assigned(task.id, task.generation)

    def close(self) -> None:
        with self._lock:
            jobs, self._jobs = self._jobs, []
            server, self._server = self._server, None
        for job in jobs:
            job.cancel()
        if server is not None:
            server.close()


def _end_all(tasks: Sequence[HostedTask], error: EosfwError | None) -> None:
    for task in tasks:
        task.job_ended(error)
