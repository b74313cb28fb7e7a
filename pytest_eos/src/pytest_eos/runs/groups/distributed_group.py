"""A group of several workers that a test freezes, kills and starts (`eos.distributed`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from eosfw.errors import RetriableError
from eosfw.ids import ConnectorTaskId
from eosfw.observe import History, StepEvent
from eosfw.pipeline import ClusterChoice
from eosfw.protocols import Observer
from eosfw.runtime import DistributedHerder, TaskState, TaskStatus, Worker
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.runs.groups.extra_plugins import ExtraPlugins
from pytest_eos.runs.groups.herders import Exchange, HerderGroup
from pytest_eos.runs.groups.worker_group import Waiter, WorkerGroup, as_texts


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """Where a group lives: its cluster, the backend of its workers, how long a test waits for it."""

    cluster: Cluster
    backend: str
    waiter: Waiter


class DistributedGroup(WorkerGroup):
    """Several workers of one group; each has a name (`a`, `b`, ...), and others reach it without a network.

    A test may freeze a whole worker: its membership, its tasks and what it does as the leader stand still. Its group
    finds out by the session timeout, as it does when a worker is killed.
    """

    def __init__(
        self,
        name: str,
        place: GroupPlace,
        plugins: ExtraPlugins,
        *,
        observers: Sequence[Observer] = (),
        properties: Mapping[str, str] | None = None,
    ) -> None:
        cluster = place.cluster
        super().__init__(
            name,
            ClusterChoice(place.backend, cluster.client),
            plugins,
            place.waiter,
            properties=properties,
            served=cluster.local,
        )
        self._observers, self._histories = observers, dict[str, History]()
        self._herders = self._make_herders(place, plugins)
        self._undo = ExitStack()

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """The requests between the workers, as they were sent and received."""
        return self._herders.network.exchanges

    def _make_herders(self, place: GroupPlace, plugins: ExtraPlugins) -> HerderGroup:
        return HerderGroup(place.cluster, plugins, self.name, place.backend, **self.properties)

    # --- workers

    @property
    def workers(self) -> Mapping[str, DistributedHerder]:
        """The workers that were started, by name; without those that were stopped or killed."""
        return self._herders.workers

    @property
    def worker(self) -> Worker:
        """There is no single worker: AttributeError."""
        raise AttributeError("a distributed group has no single worker: use `workers`")

    def start(self, worker: str) -> None:
        """Start a worker, a new one or one that was stopped or killed."""
        history = self._histories.setdefault(worker, History(self._waiter.runtime))
        self._herders.start(worker, self.history, *self._observers, history, self.gates)

    def stop(self, worker: str | None = None) -> None:
        """Stop one worker, or all, cleanly: polled records are committed."""
        self._end(worker, self._herders.stop)

    def kill(self, worker: str | None = None) -> None:
        """End one worker, or all, without a farewell: the group finds out by the session timeout."""
        self.kills += len(self.workers) if worker is None else 1
        self._end(worker, self._herders.kill)

    def freeze(self, worker: str) -> None:
        """Let a whole worker stand still, until `wake`; what it is doing now goes on up to its next step."""
        self._herders.freeze(worker)

    def wake(self, worker: str) -> None:
        """Let a frozen worker go on."""
        self._herders.wake(worker)

    def awake(self) -> list[str]:
        """The names of the workers that are not frozen."""
        return [name for name in self.workers if not self._herders.is_frozen(name)]

    def leader(self) -> str:
        """The name of the worker that leads; waits until there is exactly one that is not frozen."""
        self.until(lambda: len(self._herders.leaders()) == 1, "a leader")
        return self._herders.leaders()[0]

    def leads(self, worker: str) -> bool:
        """Whether a worker believes that it leads."""
        return worker in self.workers and self.workers[worker].leads()

    def running(self, worker: str) -> set[ConnectorTaskId]:
        """The tasks that a worker runs."""
        return self._herders.running(worker)

    def fenced_as_leader(self, worker: str) -> int:
        """How many of a worker's writes as the leader were refused, since a successor had fenced it."""
        return self._herders.backends[worker].fenced_as_leader

    def history_of(self, worker: str) -> History:
        """The steps of one worker."""
        return self._histories[worker]

    def worker_of(self, event: StepEvent) -> str:
        """The worker that announced a step."""
        return next(
            name for name, found in self._histories.items() if any(one is event for one in reversed(found.events()))
        )

    # --- connectors

    def put(self, name: str, properties: Mapping[str, object]) -> int:
        """Create or change a connector; return the newest generation that a worker knows (unchanged ones stay)."""
        self.put_connector(name, properties)
        known = [herder.worker_status().connectors.get(name) for herder in self.workers.values()]
        return max((one.generation for one in known if one is not None), default=0)

    def put_connector(self, name: str, properties: Mapping[str, object]) -> None:
        """Create or change a connector as the REST interface does: asked again while the group rebalances."""
        texts = as_texts(properties)
        self.connectors[name] = texts

        def is_put() -> bool:
            try:
                self.workers[self.leader()].put_connector(name, texts)
            except RetriableError:
                return False
            return True

        self.until(is_put, f"connector {name} in the group")

    def tasks(self) -> Sequence[TaskStatus]:
        """The tasks of all workers that are not frozen."""
        return [task for name in self.awake() for task in self.workers[name].worker_status().tasks]

    def connector_failures(self) -> Mapping[str, BaseException]:
        """The errors of connectors that failed themselves, as the workers that are not frozen know them."""
        known = [self.workers[name].worker_status().connector_failures for name in self.awake()]
        return {name: error for one in known for name, error in one.items()}

    def drained(self, idle: float) -> bool:
        """Whether every task of every connector runs, and its source is at its end, or was idle for so long."""
        running = {task.id: task for task in self.tasks() if task.state is TaskState.RUNNING}
        now = self._waiter.runtime.now()
        return self._all_run(running) and all(task.drained(now, idle) for task in running.values())

    def _all_run(self, running: Mapping[ConnectorTaskId, TaskStatus]) -> bool:
        awake = [self.workers[name] for name in self.awake()]
        wanted: dict[ConnectorTaskId, int | None] = {}
        for connector in self.connectors if awake else ():
            # Tasks of earlier properties run until every worker has read that there are newer ones.
            generations = {herder.settled_generation(connector) for herder in awake}
            if len(generations) > 1 or None in generations:
                return False
            tasks = [info.id for info in awake[0].task_infos(connector)]
            if not tasks:
                return False
            wanted |= dict.fromkeys(tasks, generations.pop())
        return bool(wanted) and wanted == {task.id: task.generation for task in running.values()}

    def until_all_run(self) -> None:
        """Wait until each task of each connector runs in one worker that is not frozen."""
        self.until(lambda: self._all_run(self._running_once()), "all tasks")

    def _running_once(self) -> dict[ConnectorTaskId, TaskStatus]:
        running = [task for task in self.tasks() if task.state is TaskState.RUNNING]
        once = {task.id: task for task in running}
        return once if len(once) == len(running) else {}

    # --- inside

    def _end(self, worker: str | None, end: Callable[[str], None]) -> None:
        for name in [worker] if worker is not None else list(self.workers):
            if name not in self.workers:
                raise KeyError(f"no worker {name!r} runs in group {self.name}; running: {', '.join(self.workers)}")
            end(name)
        if worker is None:
            self.stopped = True
            self.gates.close()

    def __enter__(self) -> Self:
        super().__enter__()
        self._undo.enter_context(self._herders)
        return self

    def __exit__(self, *_: object) -> None:
        self.gates.close()
        self._undo.close()
        super().__exit__(*_)
