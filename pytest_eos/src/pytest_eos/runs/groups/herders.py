"""Workers of one group in this process, with a network between them (Kafka Connect's `EmbeddedConnectCluster`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar, Self, cast
from urllib.parse import unquote, urlsplit

from eosfw.concurrency import Runtime
from eosfw.config import Config, ConfigDef
from eosfw.errors import ClusterUnavailableError, EosfwError, NotFoundError, RequestRefusedError, RetriableError
from eosfw.ids import ConnectorTaskId
from eosfw.observe import Announcer
from eosfw.protocols import Backend, Observer, RestExtension, RestResponse, RestServer
from eosfw.protocols.herder import Herder, InternalRequest
from eosfw.registry import Plugins
from eosfw.runtime import DistributedHerder, TaskState, WorkerSetup, worker_config
from pytest_eos.environment.clusters.cluster import Cluster
from pytest_eos.environment.clusters.freezable_backend import FreezableBackend
from pytest_eos.environment.config.installed_plugins import installed_plugins

_WORKER = {
    "exactly.once.source.support": "enabled",
    "offset.storage.partitions": "1",
    "status.storage.partitions": "1",
    "task.shutdown.graceful.timeout.ms": "20",
}


_SIGNED_AT = "x-eosfw-request-time"
_CLOCK_STEP = 1.0
"""Seconds by which a wall clock passes more or less than the runtime's, so that it must have been set."""


@dataclass(slots=True)
class Exchange:
    """A request between workers, as it was sent or as it was received."""

    at: float
    """Seconds of the runtime's clock."""
    worker: str
    """The URL of who has sent or received it."""
    receiver: str
    request: InternalRequest
    sent: bool
    accepted: bool = False
    """Whether who has received it did what it asks for."""
    wall: float | None = None
    """Seconds since 1970 by the clock of who has sent or received it; None if that was set before it was accepted."""

    @property
    def age(self) -> float | None:
        """Seconds since it was signed, by the clocks of who has signed and received it; None if nothing tells."""
        signed = self.request.headers.get(_SIGNED_AT)
        return None if signed is None or self.wall is None else self.wall - int(signed) / 1000


class WorkerNetwork:
    """Which worker answers at which URL; a worker that is not there cannot be reached."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.exchanges: list[Exchange] = []
        """What workers have sent and received, in this order."""
        self.servers: dict[str, DirectRestServer] = {}

    def connect(self, name: str) -> DirectRestServer:
        """Make the REST interface of a worker."""
        server = DirectRestServer(self, f"http://{name}:8083")
        self.servers[server.url] = server
        return server


class DirectRestServer:
    """The `RestServer` of a worker, which calls the herders of the others directly; internal endpoints alone."""

    name: ClassVar[str] = "direct"
    config: ClassVar[ConfigDef] = ConfigDef()

    def __init__(self, network: WorkerNetwork, url: str) -> None:
        self.url = url
        self._network = network
        self._runtime: Runtime = network.runtime
        self.herder: Herder | None = None
        self.requests: list[InternalRequest] = []
        """What it has received."""

    @classmethod
    def start(cls, config: Config, runtime: Runtime) -> Self:
        """Start alone in a network."""
        return cls(WorkerNetwork(runtime), config["listeners"][0])

    def serve(self, herder: Herder, extensions: Sequence[RestExtension] = ()) -> None:
        """Answer requests with this herder; nobody from outside asks, so extensions have nothing to do."""
        self.herder = herder

    def request(self, method: str, url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> RestResponse:
        """Have another worker of the network answer."""
        parts = urlsplit(url)
        server = self._network.servers.get(f"{parts.scheme}://{parts.netloc}")
        if server is None:
            raise ClusterUnavailableError(f"no worker answers at {url}")
        lower = {name.lower(): text for name, text in headers.items()}
        return server.answer(self.sent(InternalRequest(method, parts.path, body, lower), server))

    def sent(self, request: InternalRequest, receiver: DirectRestServer) -> InternalRequest:
        """Note a request that this worker sends."""
        self._note(request, receiver.url, sent=True)
        return request

    def _note(self, request: InternalRequest, receiver: str, *, sent: bool) -> Exchange:
        runtime = self._runtime
        made = Exchange(runtime.now(), self.url, receiver, request, sent=sent, wall=runtime.wall())
        self._network.exchanges.append(made)
        return made

    def answer(self, request: InternalRequest) -> RestResponse:
        """The answer of this worker's herder."""
        self.requests.append(request)
        received = self._note(request, self.url, sent=False)
        if self.herder is None:
            return _refusal(503, "This worker is still starting up")
        _, _, connector, what = request.path.split("/")
        try:
            if what == "fence":
                self.herder.fence_zombies(unquote(connector), request)
            else:
                self.herder.put_task_configs(unquote(connector), lambda: json.loads(request.body), request)
        except EosfwError as error:
            return _refusal(_status(error), str(error))
        received.accepted = True
        passed, runtime = self._runtime.now() - received.at, self._runtime
        if received.wall is not None and abs(runtime.wall() - received.wall - passed) > _CLOCK_STEP:
            received.wall = None
        return RestResponse(200, b"")

    def close(self) -> None:
        """Answer no more."""
        self._network.servers.pop(self.url, None)


def _status(error: EosfwError) -> int:
    if isinstance(error, RequestRefusedError):
        return error.status
    if isinstance(error, NotFoundError):
        return 404
    return 409 if isinstance(error, RetriableError) else 500


def _refusal(status: int, message: str) -> RestResponse:
    return RestResponse(status, json.dumps({"error_code": status, "message": message}).encode())


class HerderGroup:
    """Workers of one group on a cluster; a context manager that ends them."""

    def __init__(self, cluster: Cluster, plugins: Plugins, name: str, backend: str = "memory", **worker: str) -> None:
        self.name, self.runtime = name, cluster.runtime
        self._cluster, self._plugins, self._backend = cluster, plugins, backend
        self._properties = {**_WORKER, **{key.replace("_", "."): text for key, text in worker.items()}}
        self.network = WorkerNetwork(cluster.runtime)
        self.workers: dict[str, DistributedHerder] = {}
        self.backends: dict[str, FreezableBackend] = {}
        """The backend of each worker, by which it is frozen."""
        self._undo = ExitStack()

    def start(self, worker: str = "a", *observers: Observer, rest: bool = True) -> DistributedHerder:
        """Start a worker that others reach by its name."""
        real = self._connect(self.runtime)
        self._undo.callback(real.close)
        herder = self._build(worker, real, self.network.connect(worker) if rest else None, observers)
        herder.start()
        self.workers[worker] = herder
        return herder

    def _connect(self, runtime: Runtime) -> Backend:
        connected: Backend = self._plugins.backend(self._backend).connect(self._cluster.client, runtime)
        return connected

    def _build(
        self,
        worker: str,
        real: Backend,
        server: RestServer | None,
        observers: Sequence[Observer],
        runtime: Runtime | None = None,
        name: str | None = None,
    ) -> DistributedHerder:
        """Make a worker without starting it; `runtime` and `name` are its own, where they differ from the group's."""
        runtime = runtime or self.runtime
        backend = FreezableBackend(real, self.name, runtime)
        config = worker_config({"group.id": self.name, **self._properties}, plugins=installed_plugins())
        herder = DistributedHerder(
            WorkerSetup(
                config=config,
                backend=cast("Backend", backend),
                plugins=self._plugins,
                announce=Announcer(
                    (*observers, backend)
                ),  # last: it blocks, and the others must have recorded the event
                runtime=runtime,
                rest=server,
                name=name,
            )
        )
        self.backends[worker] = backend
        return herder

    def stop(self, worker: str = "a") -> None:
        """Stop a worker cleanly."""
        self.workers.pop(worker).stop(2.0)

    def kill(self, worker: str = "a") -> None:
        """End a worker without a farewell: its group must find out by itself."""
        self.backends[worker].crashed = True
        self.workers.pop(worker).kill()

    def freeze(self, worker: str) -> None:
        """Freeze a whole worker: its membership, its tasks and its leader's steps stand still."""
        self.backends[worker].suspended = True

    def wake(self, worker: str) -> None:
        """Let a frozen worker go on."""
        self.backends[worker].suspended = self.backends[worker].frozen = False

    def is_frozen(self, worker: str) -> bool:
        """Whether the worker, or at least its membership, stands still."""
        return self.backends[worker].frozen or self.backends[worker].suspended

    def leaders(self) -> list[str]:
        """The workers that believe that they lead, those aside that are frozen."""
        return [name for name, herder in self.workers.items() if herder.leads() and not self.is_frozen(name)]

    def running(self, worker: str) -> set[ConnectorTaskId]:
        """The tasks of one worker that poll."""
        tasks = self.workers[worker].worker_status().tasks
        return {one.id for one in tasks if one.state is TaskState.RUNNING}

    def until(self, happened: Callable[[], bool], what: str, patience: float = 60.0) -> None:
        """Wait until a condition is true; AssertionError after `patience` seconds of the cluster's clock."""
        deadline = self.runtime.now() + patience
        while not happened():
            if self.runtime.now() > deadline:
                raise AssertionError(f"waited {patience:g} s in vain for {what}")
            self.runtime.sleep(0.02)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for backend in self.backends.values():
            backend.frozen = backend.suspended = False
        for herder in self.workers.values():
            herder.stop(0.1)
        self._undo.close()
