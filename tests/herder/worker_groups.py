"""Groups of several workers for tests: connectors that count slowly, workers that freeze, and what they wrote."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.kip618.group import PLUGINS, GroupPlugins
from tests.runtime.counting import CountingConnector, CountingTask

from eosfw.concurrency import Runtime
from eosfw.connectors import PollResult
from eosfw.ids import ConnectorTaskId
from eosfw.protocols import Gap, GroupAssignment, GroupConsumer
from eosfw.runtime import DistributedHerder
from pytest_eos.clusters import Cluster, virtual
from pytest_eos.herders import HerderGroup

SESSION = 10.0


class FreezableConsumer:
    """A `GroupConsumer` whose thread can be frozen, so that its worker falls silent."""

    def __init__(self, inner: GroupConsumer, worker: FreezableBackend) -> None:
        self._inner, self._worker = inner, worker

    def poll(self, timeout: float) -> GroupAssignment:
        """Poll, unless the worker is frozen."""
        self._worker.hold()
        return self._inner.poll(timeout)

    def confirm(self, timeout: float) -> None:
        """Confirm, unless the worker is frozen."""
        self._worker.hold()
        self._inner.confirm(timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Leave the group; a worker that crashed says nothing."""
        if not self._worker.crashed:
            self._inner.close(timeout)


class FreezableBackend:
    """The backend of one worker."""

    def __init__(self, inner: Any, runtime: Runtime) -> None:
        self._inner, self._runtime = inner, runtime
        self.frozen = self.crashed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def group_consumer(self, *args: Any, **kwargs: Any) -> FreezableConsumer:
        """A member that can be frozen."""
        return FreezableConsumer(self._inner.group_consumer(*args, **kwargs), self)

    def hold(self) -> None:
        """Block the calling thread while the worker is frozen."""
        while self.frozen and not self.crashed:
            self._runtime.sleep(0.1)


class FreezablePlugins(GroupPlugins):
    """What is installed, with backends that can be frozen; the newest is that of the newest worker."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(SlowConnector(runtime))
        self._runtime = runtime
        self.made: list[FreezableBackend] = []

    def backend(self, name: str) -> Any:
        """A backend to connect with."""
        return _Connecting(self, PLUGINS.backend(name))

    def add(self, backend: Any) -> FreezableBackend:
        """Note the backend of a worker."""
        self.made.append(FreezableBackend(backend, self._runtime))
        return self.made[-1]


class _Connecting:
    def __init__(self, plugins: FreezablePlugins, backend: Any) -> None:
        self._plugins, self._backend = plugins, backend

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def connect(self, properties: Mapping[str, str], runtime: Runtime) -> FreezableBackend:
        """Connect, with a backend that can be frozen."""
        return self._plugins.add(self._backend.connect(properties, runtime))


class SlowConnector(CountingConnector):
    """Gives one record of each stream every 100 ms."""

    def __init__(self, runtime: Runtime) -> None:
        class Task(CountingTask):
            def poll(self) -> PollResult:
                runtime.sleep(0.1)
                return super().poll()

        self.task = Task  # type: ignore[misc]


class Workers(HerderGroup):
    """Workers of a group, and what they wrote."""

    def __init__(self, cluster: Cluster, backend: str = "memory", **worker: str) -> None:
        self.plugins = FreezablePlugins(cluster.runtime)
        self.cluster, self.client_name = cluster, backend
        self.of: dict[str, FreezableBackend] = {}
        super().__init__(cluster, self.plugins, f"g{uuid.uuid4().hex[:6]}", backend, **worker)  # type: ignore[arg-type]

    @property
    def topic(self) -> str:
        """Where the connectors write to."""
        return f"{self.name}-counts"

    def start(self, worker: str = "a", *observers: Any, rest: bool = True) -> DistributedHerder:
        """Start a worker."""
        herder = super().start(worker, *observers, rest=rest)
        self.of[worker] = self.plugins.made[-1]
        return herder

    def set_worker(self, **worker: str) -> None:
        """Change the properties of the workers that start from now on."""
        self._properties |= {key.replace("_", "."): text for key, text in worker.items()}

    def crash(self, worker: str) -> None:
        """End a worker without a farewell: its group must find out by itself."""
        self.of[worker].crashed = True
        self.kill(worker)

    def put(self, tasks: int, name: str = "c") -> None:
        """Create or change a connector that counts in five streams; each connector writes to its own topic."""
        topic = self.topic if name == "c" else f"{self.topic}-{name}"
        properties = {"connector.class": "counting", "topic": topic, "streams": "5", "until": "0"}
        self.leader().put_connector(name, {**properties, "tasks.max": str(tasks)})

    def leader(self) -> DistributedHerder:
        """The worker that leads, as soon as there is exactly one."""
        self.until(lambda: len(self._leading()) == 1, "a leader")
        return self._leading()[0]

    def leader_name(self) -> str:
        """Its name."""
        leader = self.leader()
        return next(name for name, herder in self.workers.items() if herder is leader)

    def follower_name(self) -> str:
        """A worker that does not lead."""
        leader = self.leader()
        return next(name for name, herder in self.workers.items() if herder is not leader)

    def _leading(self) -> list[DistributedHerder]:
        return [herder for name, herder in self.workers.items() if herder.leads() and not self.of[name].frozen]

    def running(self, worker: str) -> set[ConnectorTaskId]:
        """The tasks of one worker that poll."""
        return {one.id for one in self.workers[worker].worker_status().tasks if one.state.name == "RUNNING"}

    def shares(self) -> dict[str, int]:
        """How many tasks each worker runs, those aside that are frozen."""
        return {name: len(self.running(name)) for name in sorted(self.workers) if not self.of[name].frozen}

    def until_shared(self, *counts: int, patience: float = 120.0) -> None:
        """Wait until the workers run so many tasks, each task once; any worker may have any share."""

        def settled() -> bool:
            tasks = [task for name in self.shares() for task in self.running(name)]
            return sorted(self.shares().values()) == sorted(counts) and len(tasks) == len(set(tasks))

        try:
            self.until(settled, f"shares {counts}", patience)
        except AssertionError as error:
            found = {
                name: [f"{one.id} {one.state.value} {one.step}" for one in herder.worker_status().tasks]
                for name, herder in self.workers.items()
            }
            raise AssertionError(f"{error}; there are {self.shares()}: {found}") from error

    def until_more(self, count: int = 20) -> None:
        """Wait until that many more records are committed."""
        goal = len(self.committed()) + count
        self.until(lambda: len(self.committed()) >= goal, f"{count} more records")

    def committed(self) -> list[bytes]:
        """What a reader of committed records sees."""
        backend = PLUGINS.backend(self.client_name).connect(self.cluster.client, self.runtime)
        reader = PLUGINS.isolation_reader().over(backend, self.runtime)
        try:
            found = reader.read(reader.bounds([self.topic]), 30.0)
            return [value for batch in found if not isinstance(batch, Gap) for value in batch.values]
        finally:
            reader.close()
            backend.close()

    def check_exactly_once(self) -> None:
        """Each stream counts from 0, with no gap and no repeat."""
        streams: dict[bytes, list[int]] = defaultdict(list)
        for value in self.committed():
            stream, _, number = value.partition(b":")
            streams[stream].append(int(number))
        assert len(streams) == 5
        for stream, numbers in streams.items():
            assert sorted(numbers) == list(range(len(numbers))), f"{stream!r} has gaps or repeats"

    def failures(self) -> list[str]:
        """The tasks that failed."""
        return [str(one.error) for herder in self.workers.values() for one in herder.worker_status().failures]


@contextmanager
def workers(seed: int | str = 7, **worker: str) -> Iterator[Workers]:
    """A group on an embedded cluster in virtual time."""
    with virtual(seed) as cluster, Workers(cluster, **worker) as group:
        yield group
