"""The host of a run's connector tasks, chosen with `--engine` or `task.isolation`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from eosfw.errors import PluginError, Problem
from eosfw.pipeline.definition.model import Pipeline
from eosfw.protocols import TaskHost, TaskHostSession, TaskHostSettings
from eosfw.registry import Plugins
from eosfw.runtime.hosting.process_launcher import HostedProcesses, HostedTaskLauncher
from eosfw.runtime.hosting.thread_launcher import LauncherFactory
from eosfw.state.steps import StepEvent


@dataclass(frozen=True, slots=True)
class HostChoice:
    """Which step engine runs the tasks, and where."""

    engine: str
    settings: TaskHostSettings = field(default_factory=TaskHostSettings)


def task_host(plugins: Plugins, choice: HostChoice) -> type[TaskHost]:
    """The engine that is chosen; PluginError if it is not installed, or runs no tasks."""
    engine: object = plugins.step_engine(choice.engine)
    if not isinstance(engine, TaskHost):
        raise PluginError(f"step engine {choice.engine!r} runs steps alone, no tasks of connectors: leave out --engine")
    return cast("type[TaskHost]", engine)


def host_problems(plugins: Plugins, choice: HostChoice, pipeline: Pipeline) -> list[Problem]:
    """What keeps the tasks from being hosted; starts nothing."""
    settings = replace(choice.settings, embedded_broker=not pipeline.cluster.external)
    try:
        return list(task_host(plugins, choice).host_problems(settings))
    except PluginError as error:
        return [Problem("--engine", str(error))]


def launcher_on(
    session: TaskHostSession,
    pipeline: Pipeline,
    plugins: Plugins,
    cluster: tuple[str, Mapping[str, str]],
    observe: Callable[[StepEvent], None],
    *,
    job_per_task: bool,
) -> LauncherFactory:
    """Have the worker's tasks run there; `cluster` is the client's name with its properties."""
    backend, properties = cluster
    processes = HostedProcesses(
        session=session,
        backend=backend,
        cluster=properties,
        properties=pipeline.worker,
        requires=partial(_required, pipeline, plugins, backend),
        observe=observe,
        job_per_task=job_per_task,
    )
    return lambda services: HostedTaskLauncher(services, processes)


def _required(pipeline: Pipeline, plugins: Plugins, backend: str, connector: str) -> Mapping[str, str]:
    """The distributions, with versions, that a connector's tasks need beside the host's own."""
    needed = (plugins.backend(backend), type(plugins.connector(pipeline.connectors[connector]["connector.class"])))
    sources = [one.source for one in plugins.registered() if any(map(one.offers, needed))]
    return {source.distribution: source.version for source in sources}
