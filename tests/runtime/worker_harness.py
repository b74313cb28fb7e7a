"""Run one worker over a fake cluster and collect its events."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, Self

from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.config.override_policy import LOCAL_FILE_POLICY
from eosfw.config.worker import WORKER
from eosfw.connectors import SourceConnector, SourceTask
from eosfw.protocols import ConfigProvider, Converter, HeaderConverter, MetricsReporter, Predicate, Transformation
from eosfw.registry import Plugins, load_plugins
from eosfw.runtime import Worker
from eosfw.runtime.group.sole_member import SoleMember
from eosfw.runtime.hosting.thread_launcher import LauncherFactory, ThreadLauncher
from eosfw.runtime.status import TaskState, TaskStatus
from eosfw.state.steps import StepEvent, TaskStep

from .counting import CountingConnector
from .fake_cluster import FakeBackend, FakeCluster, FakeFencer

PATIENCE = 30.0
ENDED = (TaskStep.FAILED, TaskStep.STOPPED, TaskStep.SUPERSEDED)


class HarnessPlugins:
    """The few plugins a stage has."""

    def __init__(self, connector: SourceConnector, parts: Collection[type[Any]] = ()) -> None:
        self._connector = connector
        self._parts = {part.name: part for part in parts}

    def offset_store(self, name: str = "kafka") -> KafkaOffsetStore:
        return KafkaOffsetStore()

    def fencer(self, backend: str, name: str | None = None) -> type[FakeFencer]:
        return FakeFencer

    def connector(self, connector_class: str) -> SourceConnector:
        return self._connector

    def transformation(self, name: str) -> Transformation:
        return self._parts[name]() if name in self._parts else installed().transformation(name)

    def predicate(self, name: str) -> Predicate:
        return self._parts[name]() if name in self._parts else installed().predicate(name)

    def converter(self, name: str) -> Converter:
        return self._parts[name]() if name in self._parts else installed().converter(name)

    def header_converter(self, name: str) -> HeaderConverter | Converter:
        return self._parts[name]() if name in self._parts else installed().header_converter(name)

    def metrics_reporter(self, name: str) -> MetricsReporter:
        return self._parts[name]() if name in self._parts else installed().metrics_reporter(name)

    def config_provider(self, name: str) -> ConfigProvider:
        return installed().config_provider(name)


@cache
def installed() -> Plugins:
    """The plugins of this environment, looked for once."""
    return load_plugins()


def connector_of(task_class: type[SourceTask], config: Any = None) -> SourceConnector:
    """A connector around a task class that tests wrote for one purpose."""

    class Made(CountingConnector):
        name = "made"
        task = task_class

        def task_configs(self, config: Any, max_tasks: int) -> list[Mapping[str, str]]:
            return [{} for _ in range(max_tasks)]

    return Made()


class WorkerHarness:
    """One worker; `announce` may be given to hold it up."""

    idle = 0.3
    """Seconds without records after which a source that knows no end counts as drained."""

    def __init__(
        self,
        connector: SourceConnector | None = None,
        cluster: FakeCluster | None = None,
        on_step: Callable[[StepEvent], None] = lambda _: None,
        runtime: Runtime | None = None,
        member: SoleMember | None = None,
        parts: Collection[type[Any]] = (),
        *,
        launcher: LauncherFactory = ThreadLauncher,
        cancels_tasks: bool = False,
        **worker: str,
    ) -> None:
        self.cluster = cluster or FakeCluster()
        self.events: list[StepEvent] = []
        self._on_step = on_step
        properties = {"group.id": "g", "exactly.once.source.support": "enabled", **LOCAL_FILE_POLICY}
        properties |= {name.replace("_", "."): value for name, value in worker.items()}
        self.properties = properties
        self.worker = Worker(
            WORKER.parse(properties),
            FakeBackend(self.cluster),  # type: ignore[arg-type]
            HarnessPlugins(connector or CountingConnector(), parts),  # type: ignore[arg-type]
            self._hear,
            runtime or ThreadRuntime(),
            member=member,
            launcher=launcher,
            cancels_tasks=cancels_tasks,
        )

    def _hear(self, event: StepEvent) -> None:
        self.events.append(event)
        self._on_step(event)

    def put(self, name: str = "c", /, **properties: str) -> int:
        """Put a connector with the given properties over sensible ones."""
        given = {name.replace("_", "."): value for name, value in properties.items()}
        return self.worker.put_connector(name, {"connector.class": "counting", "topic": "t", **given})

    def steps(self, task: int | None = 0, generation: int | None = None) -> list[TaskStep]:
        """Steps of one task, or of the leader (None), polls without records left out."""
        return [
            event.step
            for event in self.events
            if (event.task.task if event.task else None) == task and generation in (None, event.generation)
        ]

    def until(self, condition: Callable[[], bool], what: str = "the condition") -> None:
        """Wait until a condition holds, with a timeout."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"{what} did not come; steps: {[(e.step.value, e.task) for e in self.events][-20:]}"
                )
            time.sleep(0.002)

    def until_ended(self, connector: str = "c") -> tuple[TaskStatus, ...]:
        """Wait until every task of a connector ended; return how."""

        def tasks() -> tuple[TaskStatus, ...]:
            return self.worker.status().connectors[connector].tasks

        def ended() -> bool:
            return all(task.state.ended or task.superseded for task in tasks()) and all(
                any(e.step in ENDED and e.task == task.id and e.generation == task.generation for e in self.events)
                for task in tasks()
            )

        self.until(ended, "the end of every task")
        return tasks()

    def until_drained(self) -> None:
        """Wait until the sources have no more to give."""
        self.until(lambda: self.worker.drained(self.idle) or self._failed(), "a drained run")
        assert not self._failed(), [task.trace for task in self.worker.status().failures]

    def _failed(self) -> bool:
        return any(task.state is TaskState.FAILED for task in self.worker.status().tasks)

    def __enter__(self) -> Self:
        self.worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.worker.stop(2.0)
