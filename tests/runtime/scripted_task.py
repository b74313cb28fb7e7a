"""Write a task as the list of what its polls return."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from eosfw.concurrency import Runtime
from eosfw.connectors import SourceTask
from eosfw.records import SourceBatch, SourceRecord
from eosfw.runtime.status import TaskState

from .fake_cluster import FakeCluster
from .worker_harness import WorkerHarness, connector_of

OFFSETS = "send g-offsets"


class Scripted(SourceTask):
    """Returns what it was given, poll by poll, then nothing."""

    script: ClassVar[list[Any]] = []
    heard: ClassVar[list[str]] = []

    def start(self, config: Any, context: Any) -> None:
        self.context = context
        self.left = list(self.script)
        self.done = False

    def poll(self) -> Any:
        if not self.left:
            self.done = True
            return None
        item = self.left.pop(0)
        if isinstance(item, BaseException):
            raise item
        return item(self.context) if callable(item) else item

    def at_end(self) -> bool | None:
        return self.done

    def commit(self) -> None:
        self.heard.append("commit")

    def stop(self) -> None:
        self.heard.append("stop")


def scripted(*script: Any, **methods: Any) -> type[Scripted]:
    """A task of its own class that returns these."""
    return type("Script", (Scripted,), {"script": list(script), "heard": [], **methods})


def batch(first: int, count: int = 2, topic: str = "t", **more: Any) -> SourceBatch:
    """Numbers as one batch."""
    values = [b"%d" % number for number in range(first, first + count)]
    return SourceBatch(topic, values, {"p": "a"}, {"o": first + count}, **more)


def record(number: int, topic: str = "t", **more: Any) -> SourceRecord:
    """A number as a record."""
    return SourceRecord(topic, b"%d" % number, None, {"p": "a"}, {"o": number + 1}, **more)


def run(
    task: type[Scripted],
    cluster: FakeCluster | None = None,
    runtime: Runtime | None = None,
    parts: Collection[type[Any]] = (),
    worker: Mapping[str, str] | None = None,
    **properties: str,
) -> WorkerHarness:
    """Run a scripted task to its end; `parts` are transformations, predicates and converters to choose."""
    with WorkerHarness(connector_of(task), cluster, runtime=runtime, parts=parts, **(worker or {})) as stage:
        stage.put("c", **properties)
        stage.until(lambda: stage.worker.drained(9) or bool(stage.worker.status().failures), "the end of the script")
    return stage


def failure(stage: WorkerHarness) -> str:
    """How its only task failed."""
    (task,) = stage.worker.status().tasks
    assert task.state is TaskState.FAILED, task
    assert task.trace
    return str(task.error)
