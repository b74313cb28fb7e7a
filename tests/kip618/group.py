"""A worker group on a cluster, watched, with gates to freeze it at."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self

import pytest
from tests.runtime.counting import CountingConnector, expected

from eosfw.concurrency import ThreadRuntime
from eosfw.config.override_policy import LOCAL_FILE_POLICY
from eosfw.config.worker import WORKER
from eosfw.connectors import SourceConnector
from eosfw.ids import TopicPartition
from eosfw.observe import Announcer, Gates, History
from eosfw.protocols import Backend, Gap, IsolationLevel
from eosfw.registry import load_plugins
from eosfw.runtime import Worker
from eosfw.state.steps import StepEvent, TaskStep

PATIENCE = 60.0
OVERLAP = pytest.mark.parametrize("overlap", ["false", "true"], ids=["one by one", "overlapping"])
"""For tests whose tasks commit before they poll again, and beside the next poll (`transaction.commit.overlap`)."""
RUNTIME = ThreadRuntime()
PLUGINS = load_plugins()


@dataclass(frozen=True, slots=True)
class Served:
    """A cluster and the backend whose client is used there."""

    bootstrap_servers: str
    backend: str


class GroupPlugins:
    """What is installed, with a connector and predicates of the tests' own."""

    def __init__(self, connector: SourceConnector, predicates: Collection[type[Any]] = ()) -> None:
        self._connector = connector
        self._predicates = {one.name: one for one in predicates}

    def __getattr__(self, name: str) -> Any:
        return getattr(PLUGINS, name)

    def connector(self, connector_class: str) -> SourceConnector:
        return self._connector

    def connector_version(self, connector_class: str) -> str | None:
        return self._connector.version

    def predicate(self, name: str) -> Any:
        return self._predicates[name]() if name in self._predicates else PLUGINS.predicate(name)


class Group:
    """One worker of a group, on a cluster; another with the same `name` is a second run of it."""

    def __init__(
        self,
        cluster: Served,
        name: str | None = None,
        *,
        connector: SourceConnector | None = None,
        wrap: Callable[[Backend], Backend] = lambda backend: backend,
        cancels_tasks: bool = False,
        properties: Mapping[str, str] | None = None,
        predicates: Collection[type[Any]] = (),
        **worker: str,
    ) -> None:
        self.name = name or f"g{uuid.uuid4().hex[:8]}"
        self.topic = f"{self.name}-counts"
        self.bootstrap_servers = cluster.bootstrap_servers
        address = {"bootstrap.servers": cluster.bootstrap_servers, **(properties or {})}
        self.backend = PLUGINS.backend(cluster.backend).connect(address, RUNTIME)
        self.gates = Gates(RUNTIME)
        self.history = History(RUNTIME)
        self.events: list[StepEvent] = []
        given = {
            "group.id": self.name,
            "exactly.once.source.support": "enabled",
            **LOCAL_FILE_POLICY,
            "offset.storage.partitions": "3",
            "task.shutdown.graceful.timeout.ms": "500",
        }
        given |= {key.replace("_", "."): value for key, value in worker.items()}
        self.config = WORKER.parse(given)
        announcer = Announcer([self.history, self.gates])
        self.worker = Worker(
            self.config,
            wrap(self.backend),
            GroupPlugins(connector or CountingConnector(), predicates),
            self._hear(announcer),
            RUNTIME,
            cancels_tasks=cancels_tasks,
        )

    def _hear(self, announcer: Announcer) -> Callable[[StepEvent], None]:
        def hear(event: StepEvent) -> None:
            self.events.append(event)
            announcer(event)

        return hear

    def put(self, **properties: str) -> int:
        """Put the counting connector `c`."""
        given = {key.replace("_", "."): value for key, value in properties.items()}
        return self.worker.put_connector("c", {"connector.class": "counting", "topic": self.topic, **given})

    def committed(self, topic: str | None = None) -> list[bytes]:
        """What a reader of committed records sees, sorted, once each transaction written to so far is decided.

        Kafka answers a commit before its control records are written (COR-09), so "now" would be too early.
        """
        self._await_decided(name := topic or self.topic)
        reader = PLUGINS.isolation_reader().over(self.backend, RUNTIME)
        try:
            found = reader.read(reader.bounds([name]), 30.0)
            return sorted(value for batch in found if not isinstance(batch, Gap) for value in batch.values)
        finally:
            reader.close()

    def latest(self, topic: str) -> dict[bytes | None, bytes | None]:
        """What a topic of committed records holds once it was compacted."""
        with closing(PLUGINS.isolation_reader().over(self.backend, RUNTIME)) as reader:
            read = reader.read(reader.bounds([topic]), 30.0)
            batches = [batch for batch in read if not isinstance(batch, Gap)]
        return {key: value for batch in batches for key, value in zip(batch.keys, batch.values, strict=True)}

    def _await_decided(self, topic: str) -> None:
        with closing(self.backend.admin()) as admin:
            partitions = [TopicPartition(topic, number) for number in range(admin.partitions([topic])[topic])]
            written = admin.end_offsets(partitions, IsolationLevel.READ_UNCOMMITTED)

            def decided() -> bool:
                stable = admin.end_offsets(partitions, IsolationLevel.READ_COMMITTED)
                return all(stable[one] >= end for one, end in written.items())

            self.until(decided, "the end of each transaction")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds, with a timeout."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                last = [(event.step.value, str(event.task), event.generation) for event in self.events[-15:]]
                raise AssertionError(f"{what} did not come; the last steps: {last}; {self.worker.status()}")
            time.sleep(0.01)

    def until_drained(self) -> None:
        """Wait until every source is at its end."""
        self.until(lambda: self.worker.drained(PATIENCE) or bool(self.worker.status().failures), "a drained run")
        assert not self.worker.status().failures, [task.trace for task in self.worker.status().failures]

    def until_step(self, step: TaskStep, count: int = 1, **wanted: object) -> None:
        """Wait until a step was announced so often."""

        def seen() -> bool:
            hits = [e for e in self.events if e.step is step and all(getattr(e, k) == v for k, v in wanted.items())]
            return len(hits) >= count

        self.until(seen, f"{count} x {step.value}")

    def wake_replaced(self, step: TaskStep, first: Mapping[str, str], then: Mapping[str, str], **where: Any) -> None:
        """Freeze a task before a step, replace its generation, and wake it when its successors are at their end."""
        gate = self.gates.freeze(step, **where)
        self.put(**first)
        assert gate.reached.wait(30)
        self.put(**then)
        self.until_drained()
        gate.open()
        self.until_zombies_ended()

    def until_zombies_ended(self) -> None:
        """Wait until no abandoned task is alive."""
        self.until(lambda: not self.worker.status().zombies, "the end of the zombies")

    def __enter__(self) -> Self:
        self.worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.gates.close()
        self.worker.stop(10.0)
        self.backend.close()


def exactly(streams: int, until: int) -> list[bytes]:
    """Every record that must be there, once."""
    return expected(streams, until)
